import { z } from 'zod';
import { abilitiesView } from '../catalog/abilities-view.ts';
import type { Catalog, Model } from '../catalog/catalog.ts';
import { priceChanges } from '../catalog/plans.ts';
import { priceRows, serviceTiers } from '../catalog/price-rows.ts';
import { catalogFor } from '../catalog/groups.ts';
import { json, rateHeaders } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import type { AccountSnapshot } from '../ledger/port.ts';
import { mayUse, rateOf } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import { modelsList, oneModel, type ModelEntry } from '../wire/openai/models-list.ts';
import { OPENAI_ERRORS, TOKEN_ERRORS } from './errors.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const values = z.array(z.string()).nullable();
const isTaken = z.boolean().nullable();

/** What an image model takes; `null`: its backend decides. */
export const abilitiesBody = z
  .object({
    sizes: z.array(z.string()).describe('The first is the default'),
    size_range: z
      .object({
        step: z.int(),
        min_edge: z.int(),
        max_edge: z.int(),
        max_ratio: z.number(),
        min_pixels: z.int(),
        max_pixels: z.int(),
      })
      .nullable()
      .describe('Further sizes'),
    shapes: z
      .array(
        z.object({
          size: z.string(),
          aspect_ratio: z.string().nullable(),
          resolution: z.string().nullable(),
        }),
      )
      .describe('The size that an aspect_ratio, a resolution, or both together stand for'),
    max_n: z.int(),
    quality: values,
    background: values,
    output_format: values,
    output_compression: isTaken,
    moderation: values,
    style: values,
    seed: isTaken,
    negative_prompt: isTaken,
    reference_images: z.int().nullable().describe('The most images that an edit starts from'),
    mask: isTaken,
    partial_images: z.int().nullable().describe('The most that a stream shows of each image'),
  })
  .describe('Image models only: what a request may ask for. null: the backend decides');

const usd = z.string().describe('Dollars as a decimal');

const prices = z.array(
  z.object({
    dimension: z.string().describe('What is priced, as a receipt names it; of an image its size'),
    usd,
    per: z.int().describe('How many of it the price is for'),
    above_input_tokens: z.int().nullable().describe('Only where the input has more tokens than this'),
    quality: z.string().nullable(),
  }),
);

const modelBody = z.object({
  id: z.string().describe('As requests name it: code/model, or an alias'),
  object: z.literal('model'),
  type: z.literal('model'),
  created: z.int(),
  created_at: z.string(),
  owned_by: z.string().describe('Endpoint code'),
  name: z.string(),
  display_name: z.string(),
  context_length: z.int(),
  max_input_tokens: z.int(),
  max_output_tokens: z.int(),
  max_tokens: z.int(),
  architecture: z.object({
    input_modalities: z.array(z.string()),
    output_modalities: z.array(z.string()),
  }),
  pricing: z
    .object({
      prompt: usd,
      completion: usd,
      input_cache_read: usd,
      input_cache_write: usd,
      internal_reasoning: usd,
      web_search: usd,
      request: usd,
      image: usd,
    })
    .describe('Of one token, one search, one request, one image'),
  prices: prices.describe('Every price of the model'),
  next_prices: z
    .object({
      from: z.string().describe('UTC'),
      prices: prices.describe('Every price of the model then'),
      service_tiers: z.record(z.string(), z.number()).describe('Factors of the token prices then'),
    })
    .optional()
    .describe('Its prices from a moment on, where a change is announced; without prices it is not sold then'),
  service_tiers: z.record(z.string(), z.number()).describe('Factors of the token prices'),
  supported_parameters: z.array(z.string()),
  abilities: abilitiesBody.optional(),
});

const EXAMPLE = oneModel({
  id: 'svc_chat/house-guide',
  name: 'House Guide',
  owner: 'svc_chat',
  kind: 'chat_completion',
  contextTokens: 32_768,
  maxOutput: 8_192,
  price: { kind: 'tokens', input: 100_000_000, cachedInput: 100_000_000, output: 400_000_000 },
  prices: [
    { dimension: 'input', amount: 100_000_000, per: 1_000_000 },
    { dimension: 'cached_input', amount: 100_000_000, per: 1_000_000 },
    { dimension: 'output', amount: 400_000_000, per: 1_000_000 },
  ],
  serviceTiers: {},
  vision: false,
  tools: true,
  reasoning: false,
});

export const models: ApiOperation = {
  id: 'v1ListModels',
  method: 'GET',
  path: '/v1/models',
  tag: 'OpenAI-compatible',
  summary: 'List models with prices (OpenAI, Anthropic, OpenRouter)',
  token: 'required',
  answer: {
    description: 'Every model of every endpoint as code/model, then the aliases, each under its own name',
    headers: 'rate',
    body: {
      name: 'V1ModelList',
      schema: z.object({
        object: z.literal('list'),
        has_more: z.literal(false),
        first_id: z.string().nullable(),
        last_id: z.string().nullable(),
        data: z.array(modelBody),
      }),
      examples: {
        example: {
          object: 'list',
          has_more: false,
          first_id: EXAMPLE.id,
          last_id: EXAMPLE.id,
          data: [EXAMPLE],
        },
      },
    },
  },
  errors: TOKEN_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: (parts) => (incoming) => list(incoming, parts),
};

export const oneModelById: ApiOperation = {
  id: 'v1GetModel',
  method: 'GET',
  path: '/v1/models/{id}',
  tag: 'OpenAI-compatible',
  summary: 'Get a model',
  token: 'required',
  parameters: [
    {
      name: 'id',
      description: 'As the list has it; its slashes may stand as they are',
      example: EXAMPLE.id,
      hasSlashes: true,
    },
  ],
  answer: {
    description: 'The model',
    headers: 'none',
    body: { name: 'V1Model', schema: modelBody, examples: { example: EXAMPLE } },
  },
  errors: [...TOKEN_ERRORS, 'not_found'],
  dialect: OPENAI_ERRORS,
  handle: (parts) => (incoming) => one(incoming, parts),
};

async function list(incoming: IncomingRequest, { callerAuth, relay }: ApiParts): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const headers = rateHeaders(rateOf(snapshot, 'chat', relay));
  return json(
    modelsList(modelEntries(catalogFor(relay.catalog(), snapshot.priceGroup), snapshot)),
    incoming.requestId,
    headers,
  );
}

async function one(incoming: IncomingRequest, { callerAuth, relay }: ApiParts): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const id = incoming.parameters[0] ?? '';
  const entry = modelEntries(catalogFor(relay.catalog(), snapshot.priceGroup), snapshot).find(
    (candidate) => candidate.id === id,
  );
  if (!entry) throw new Fault('not_found', `There is no model '${id.slice(0, 100)}'.`, { param: 'model' });
  return json(oneModel(entry), incoming.requestId);
}

/**
 * The catalog as `/v1/models` lists it: every model of every endpoint as `code/model`, then the aliases; of these, what the
 * caller's token may use.
 */
function modelEntries(catalog: Catalog, caller: AccountSnapshot): ModelEntry[] {
  const { next } = catalog;
  const changes = new Map(
    (next ? priceChanges(catalog, next.catalog) : []).map(({ endpoint, model, after }) => [
      `${endpoint}/${model}`,
      after,
    ]),
  );
  const entries = [...catalog.endpoints.values()]
    .filter((endpoint) => endpoint.unavailable === undefined)
    .flatMap((endpoint) =>
      endpoint.models
        .filter((model) => mayUse(caller, endpoint, model))
        .map((model) => ({ id: `${endpoint.code}/${model.id}`, name: model.displayName, endpoint, model })),
    );
  const aliases = [...catalog.aliases].flatMap(([id, target]) => {
    const entry = entries.find((candidate) => candidate.id === `${target.endpoint}/${target.model}`);
    // In a list that shows names alone, it would read as its target does.
    return entry ? [{ ...entry, id, name: id }] : [];
  });
  return [...entries, ...aliases].map(({ id, name, endpoint, model }) => ({
    id,
    name,
    owner: endpoint.code,
    kind: endpoint.type,
    contextTokens: model.contextTokens,
    maxOutput: model.maxOutput,
    price:
      model.price.kind === 'tokens'
        ? model.price
        : { kind: 'images', image: model.price.otherwise ?? [...model.price.bySize.values()][0] ?? 0 },
    prices: priceLines(model),
    next: changes.has(`${endpoint.code}/${model.id}`)
      ? nextOf(next?.from ?? 0, changes.get(`${endpoint.code}/${model.id}`))
      : undefined,
    serviceTiers: tierFactors(model),
    vision: model.vision,
    tools: model.tools,
    reasoning: model.reasoning,
    abilities: endpoint.type === 'image_generation' ? { ...abilitiesView(model) } : undefined,
  }));
}

function nextOf(from: number, model: Model | undefined): ModelEntry['next'] {
  if (!model) return { from, prices: [], serviceTiers: {} };
  return { from, prices: priceLines(model), serviceTiers: tierFactors(model) };
}

function tierFactors(model: Model): ModelEntry['serviceTiers'] {
  return Object.fromEntries(serviceTiers(model).map(([tier, factor]) => [tier, factor / FACTOR_ONE]));
}

function priceLines(model: Model): ModelEntry['prices'] {
  return priceRows(model).map(({ item, ...row }) => ({ dimension: item, ...row }));
}
