import { z } from 'zod';
import { abilitiesView } from '../catalog/abilities-view.ts';
import type { Catalog, Endpoint, Model } from '../catalog/catalog.ts';
import type { IncomingRequest } from '../http/router.ts';
import { catalogFor } from '../catalog/groups.ts';
import { json, rateHeaders } from '../http/response.ts';
import type { AccountSnapshot } from '../ledger/port.ts';
import { mayUse, rateOf } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import { OPENAI_ERRORS, TOKEN_ERRORS } from './errors.ts';
import { abilitiesBody } from './models.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const endpointEntry = z.object({
  endpoint: z.string(),
  name: z.string(),
  endpoint_type: z.enum(['chat_completion', 'image_generation']),
  models: z.array(
    z.object({ model: z.string(), display_name: z.string(), abilities: abilitiesBody.optional() }),
  ),
});

const modelEntrySchema = z.object({
  model: z.string(),
  display_name: z.string(),
  source_table: z.string().describe('The list the model comes from'),
  abilities: abilitiesBody.optional(),
});

export const endpointList: ApiOperation = {
  id: 'listEndpoints',
  method: 'GET',
  path: '/api/public/v1/models',
  tag: 'Catalog',
  summary: 'List the endpoints and their models',
  description: 'Works without a token; a token that is sent must be valid.',
  token: 'optional',
  answer: {
    description: 'All endpoints',
    headers: 'rate',
    body: {
      name: 'EndpointList',
      schema: z.object({ success: z.boolean(), data: z.array(endpointEntry) }),
      examples: {
        example: {
          success: true,
          data: [
            {
              endpoint: 'svc_chat',
              name: 'Primary chat',
              endpoint_type: 'chat_completion',
              models: [{ model: 'house-guide', display_name: 'House Guide' }],
            },
          ],
        },
      },
    },
  },
  errors: TOKEN_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: (parts) => (incoming) => listEndpoints(incoming, parts),
};

export const endpointModels: ApiOperation = {
  id: 'listModels',
  method: 'GET',
  path: '/api/public/v1/endpoints/{code}/models',
  tag: 'Catalog',
  summary: 'List the models of one endpoint',
  token: 'required',
  parameters: [{ name: 'code', description: 'Endpoint code', example: 'svc_chat' }],
  answer: {
    description: 'The models',
    headers: 'rate',
    body: {
      name: 'ModelEntries',
      schema: z.array(modelEntrySchema),
      examples: {
        example: [{ model: 'house-guide', display_name: 'House Guide', source_table: 'house_models' }],
      },
    },
  },
  errors: [...TOKEN_ERRORS, 'unknown_endpoint'],
  dialect: OPENAI_ERRORS,
  handle: (parts) => (incoming) => listModels(incoming, parts),
};

async function listEndpoints(incoming: IncomingRequest, { callerAuth, relay }: ApiParts): Promise<Response> {
  const caller = callerAuth.optionalCaller(incoming);
  const snapshot = caller && (await callerAuth.account(caller));
  const headers = snapshot ? rateHeaders(rateOf(snapshot, 'chat', relay)) : {};
  const data = publicEndpoints(catalogFor(relay.catalog(), snapshot?.priceGroup), snapshot);
  return json({ success: true, data }, incoming.requestId, headers);
}

/** The spec has two kinds; endpoints of other kinds are left out, and models that the caller's token may not use. */
function publicEndpoints(catalog: Catalog, caller: AccountSnapshot | undefined) {
  return [...catalog.endpoints.values()].filter(isPublic).map((endpoint) => ({
    endpoint: endpoint.code,
    name: endpoint.name,
    endpoint_type: endpoint.type,
    models: endpoint.models
      .filter((model) => mayUse(caller, endpoint, model))
      .map((model) => ({
        model: model.id,
        display_name: model.displayName,
        ...abilitiesOf(endpoint, model),
      })),
  }));
}

async function listModels(incoming: IncomingRequest, { callerAuth, relay }: ApiParts): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const code = incoming.parameters[0] ?? '';
  const endpoint = catalogFor(relay.catalog(), snapshot.priceGroup).endpoints.get(code);
  if (!endpoint || !isPublic(endpoint)) {
    throw new Fault('unknown_endpoint', `There is no endpoint '${code.slice(0, 100)}'.`, { param: 'code' });
  }
  const kind = endpoint.type === 'image_generation' ? 'images' : 'chat';
  return json(
    endpoint.models
      .filter((model) => mayUse(snapshot, endpoint, model))
      .map((model) => modelEntry(endpoint, model)),
    incoming.requestId,
    rateHeaders(rateOf(snapshot, kind, relay)),
  );
}

function isPublic(endpoint: Endpoint): boolean {
  return endpoint.type === 'chat_completion' || endpoint.type === 'image_generation';
}

function modelEntry(endpoint: Endpoint, model: Model) {
  return {
    model: model.id,
    display_name: model.displayName,
    source_table: model.list,
    ...abilitiesOf(endpoint, model),
  };
}

function abilitiesOf(endpoint: Endpoint, model: Model) {
  return endpoint.type === 'image_generation' ? { abilities: abilitiesView(model) } : {};
}
