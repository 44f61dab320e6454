import { z } from 'zod';
import type { Catalog, EndpointType } from '../catalog/catalog.ts';
import { findRoute } from '../catalog/find.ts';
import type { IncomingRequest } from '../http/router.ts';
import { parseBody } from '../http/request-body.ts';
import { catalogFor } from '../catalog/groups.ts';
import { json, rateHeaders } from '../http/response.ts';
import type { AccountSnapshot, Caller } from '../ledger/port.ts';
import { mayUse, rateOf, requireModel } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import { memberOf, isAbsent } from '../wire/field-table.ts';
import { contentsToChatMessages } from '../wire/gemini/to-chat.ts';
import { geminiModel, type GeminiModelEntry } from '../wire/gemini/models-list.ts';
import { countContentsSchema, countRequestSchema, inReferenceSpelling } from '../wire/gemini/request.ts';
import { countableInput, type CountableInput } from '../wire/openai/countable-input.ts';
import { countForFree } from './count-tokens.ts';
import { BODY_ERRORS, GOOGLE_ERRORS, TOKEN_ERRORS } from './errors.ts';
import { GEMINI_MODEL } from './generate-content.ts';
import { work } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const modelBody = z.object({
  name: z.string().describe('models/ and the name that requests use'),
  version: z.string(),
  displayName: z.string(),
  description: z.string(),
  inputTokenLimit: z.int(),
  outputTokenLimit: z.int(),
  supportedGenerationMethods: z.array(z.string()),
  thinking: z.boolean(),
});

const EXAMPLE = geminiModel({
  id: 'svc_chat/house-guide',
  displayName: 'House Guide',
  contextTokens: 32_768,
  maxOutput: 8_192,
  reasoning: false,
});

export const geminiModels: ApiOperation = {
  id: 'v1betaListModels',
  method: 'GET',
  path: '/v1beta/models',
  tag: 'Gemini-compatible',
  summary: 'List models (Gemini)',
  description: 'All together, or in pages with pageSize and pageToken.',
  token: 'required',
  answer: {
    description: 'Every chat and embedding model as models/code/model, then the aliases',
    headers: 'rate',
    body: {
      name: 'GeminiModelList',
      schema: z.object({ models: z.array(modelBody), nextPageToken: z.string().optional() }),
      examples: { example: { models: [EXAMPLE] } },
    },
  },
  errors: TOKEN_ERRORS,
  dialect: GOOGLE_ERRORS,
  handle: (parts) => (incoming) => list(incoming, parts),
};

export const oneGeminiModel: ApiOperation = {
  id: 'v1betaGetModel',
  method: 'GET',
  path: '/v1beta/models/{model}',
  tag: 'Gemini-compatible',
  summary: 'Get a model (Gemini)',
  token: 'required',
  parameters: [GEMINI_MODEL],
  answer: {
    description: 'The model',
    headers: 'none',
    body: { name: 'GeminiModel', schema: modelBody, examples: { example: EXAMPLE } },
  },
  errors: [...TOKEN_ERRORS, 'not_found'],
  dialect: GOOGLE_ERRORS,
  handle: (parts) => (incoming) => one(incoming, parts),
};

export const countGeminiTokens: ApiOperation = {
  id: 'v1betaCountTokens',
  method: 'POST',
  path: '/v1beta/models/{model}:countTokens',
  tag: 'Gemini-compatible',
  summary: 'Count the input tokens of a conversation (Gemini)',
  description: 'Free of charge, and an estimate: each provider counts in its own way.',
  token: 'required',
  parameters: [GEMINI_MODEL],
  request: {
    name: 'CountGeminiTokensRequest',
    schema: z.union([countContentsSchema, countRequestSchema]),
    examples: { simple: { contents: [{ role: 'user', parts: [{ text: 'What is a hold?' }] }] } },
  },
  answer: {
    description: 'The number of tokens',
    headers: 'rate',
    body: {
      name: 'CountGeminiTokensAnswer',
      schema: z.object({ totalTokens: z.int() }),
      examples: { example: { totalTokens: 14 } },
    },
  },
  errors: [
    ...BODY_ERRORS,
    'rate_limit_exceeded',
    'unknown_endpoint',
    'unsupported_endpoint',
    'unsupported_model',
    'model_not_allowed',
  ],
  dialect: GOOGLE_ERRORS,
  handle: work(count),
};

/** Google's own limits. */
const MOST_ON_A_PAGE = 1_000;

async function list(incoming: IncomingRequest, { callerAuth, relay }: ApiParts): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const entries = modelEntries(catalogFor(relay.catalog(), snapshot.priceGroup), snapshot);
  const { searchParams } = new URL(incoming.request.url);
  const size = wholeNumber(searchParams.get('pageSize'), 'pageSize') ?? MOST_ON_A_PAGE;
  const start = wholeNumber(searchParams.get('pageToken'), 'pageToken') ?? 0;
  const end = start + Math.min(Math.max(size, 1), MOST_ON_A_PAGE);
  const page = {
    models: entries.slice(start, end).map(geminiModel),
    ...(end < entries.length && { nextPageToken: String(end) }),
  };
  return json(page, incoming.requestId, rateHeaders(rateOf(snapshot, 'chat', relay)));
}

function wholeNumber(text: string | null, param: string): number | undefined {
  if (text === null || text === '') return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Fault('invalid_field', `${param} is not valid.`, { param });
}

async function one(incoming: IncomingRequest, { callerAuth, relay }: ApiParts): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const id = incoming.parameters[0] ?? '';
  const entry = modelEntries(catalogFor(relay.catalog(), snapshot.priceGroup), snapshot).find(
    (candidate) => candidate.id === id,
  );
  if (!entry) throw new Fault('not_found', `There is no model '${id.slice(0, 100)}'.`, { param: 'model' });
  return json(geminiModel(entry), incoming.requestId);
}

const LISTED_TYPES: ReadonlySet<EndpointType> = new Set(['chat_completion', 'embedding']);

function modelEntries(catalog: Catalog, caller: AccountSnapshot): GeminiModelEntry[] {
  const entries = [...catalog.endpoints.values()]
    .filter(({ type, unavailable }) => LISTED_TYPES.has(type) && unavailable === undefined)
    .flatMap((endpoint) =>
      endpoint.models
        .filter((model) => mayUse(caller, endpoint, model))
        .map((model) => ({
          ...model,
          id: `${endpoint.code}/${model.id}`,
          embeds: endpoint.type === 'embedding',
        })),
    );
  const aliases = [...catalog.aliases].flatMap(([id, { endpoint, model }]) => {
    const entry = entries.find((candidate) => candidate.id === `${endpoint}/${model}`);
    return entry ? [{ ...entry, id, displayName: id }] : [];
  });
  return [...entries, ...aliases];
}

async function count(incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> {
  const { account, rate } = await parts.callerAuth.freeCaller(caller);
  const { value, size } = await incoming.body.json();
  requireModel(
    account,
    findRoute(
      catalogFor(parts.relay.catalog(), account.priceGroup),
      incoming.parameters[0] ?? '',
      'chat_completion',
    ),
  );
  const { signal } = incoming;
  const totalTokens = await countForFree(countableContents(value), { account, size, signal }, parts);
  return json({ totalTokens }, incoming.requestId, rateHeaders(rate));
}

/** "contents is ignored when a generateContentRequest is given" (reference). */
function countableContents(value: unknown): CountableInput {
  const asked = inReferenceSpelling(value);
  const isWhole = !isAbsent(memberOf(asked, 'generateContentRequest'));
  if (!isWhole) return countableInput(contentsToChatMessages(parseBody(countContentsSchema, asked)), []);
  const { generateContentRequest: request } = parseBody(countRequestSchema, asked);
  return countableInput(contentsToChatMessages(request), request.tools ?? []);
}
