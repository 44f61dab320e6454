import type { Catalog, Endpoint, Model } from '../catalog/catalog.ts';
import { relayImages } from '../relay/images.ts';
import { rateOf, tokenFirst } from '../relay/admission.ts';
import type { ChatCall } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import type { Store } from '../store/store.ts';
import { chatRequestSchema, type ChatRequest } from '../wire/chat.ts';
import { openAiEncoder } from '../wire/chat-stream.ts';
import { imageRequestSchema, type ImageRequest } from '../wire/images.ts';
import { accountView } from './account-view.ts';
import { answerChat } from './chat-answer.ts';
import type { Edge, Exchange } from './edge.ts';
import { answerImages, type ImageLinks } from './image-links.ts';
import { readJson, type JsonBody } from './json.ts';
import { parseBody, withoutNulls } from './parse.ts';
import { answerReceipt } from './receipt-answer.ts';
import { json, rateHeaders } from './respond.ts';
import type { Replays } from './replays.ts';
import type { Route } from './router.ts';

export interface PublicApiParts {
  readonly edge: Edge;
  readonly links: ImageLinks;
  readonly store: Store;
  readonly replays: Replays;
  readonly openApi: unknown;
}

/** The spec's operations, under its prefix, and what goes with them. */
export function publicApi(parts: PublicApiParts): Route[] {
  const { edge } = parts;
  const prefix = '/api/public/v1';
  return [
    { method: 'POST', path: `${prefix}/chat/completions`, handle: (exchange) => chat(exchange, parts) },
    { method: 'POST', path: `${prefix}/images/generations`, handle: (exchange) => images(exchange, parts) },
    { method: 'GET', path: `${prefix}/models`, handle: (exchange) => listEndpoints(exchange, edge) },
    { method: 'GET', path: `${prefix}/endpoints/*/models`, handle: (exchange) => listModels(exchange, edge) },
    { method: 'GET', path: `${prefix}/account`, handle: (exchange) => account(exchange, edge) },
    { method: 'GET', path: `${prefix}/requests/*`, handle: (exchange) => answerReceipt(exchange, edge, parts.store) },
    { method: 'GET', path: `${prefix}/openapi.json`, handle: async ({ requestId }) => json(parts.openApi, requestId) },
    { method: 'GET', path: `${prefix}/images/*`, handle: ({ request, requestId, parameters }) => parts.links.serve(request, requestId, parameters[0] ?? '') },
  ];
}

async function chat(exchange: Exchange, { edge, replays }: PublicApiParts): Promise<Response> {
  const caller = edge.caller(exchange);
  const { call, body } = await tokenFirst({ caller, rate: 'chat' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    const { selector, rest } = selectorOf(withoutNulls(body.value));
    const request = parseBody(chatRequestSchema, rest) as ChatRequest;
    const { code, model } = splitModel(selector, request.model);
    const call: ChatCall = {
      ...callOf(exchange, caller, body),
      wanted: { code, model, type: 'chat_completion' },
      label: model,
      request,
      cap: 'strict',
      encoder: (labels) => openAiEncoder(labels, request.stream_options?.include_usage === true),
    };
    return { call, body };
  });
  return await replays.once(exchange, { caller, text: body.text }, (signal) => answerChat({ ...call, signal }, edge.parts));
}

async function images(exchange: Exchange, { edge, links, replays }: PublicApiParts): Promise<Response> {
  const caller = edge.caller(exchange);
  const { call, body } = await tokenFirst({ caller, rate: 'images' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    const { selector, rest } = selectorOf(withoutNulls(body.value));
    const request = parseBody(imageRequestSchema, rest) as ImageRequest;
    const { code, model } = splitModel(selector, request.model);
    const wanted = { code, model, type: 'image_generation' as const };
    return { call: { ...callOf(exchange, caller, body), wanted, label: model, request, cap: 'strict' as const }, body };
  });
  return await replays.once(exchange, { caller, text: body.text }, async (signal) =>
    answerImages(await relayImages({ ...call, signal }, edge.parts), call, exchange, links),
  );
}

/** What every inference call says about itself. */
export function callOf(exchange: Exchange, caller: ReturnType<Edge['caller']>, body: Pick<JsonBody, 'size'>) {
  const client = (exchange.request.headers.get('user-agent') ?? '').slice(0, 200);
  return { requestId: exchange.requestId, caller, client, signal: exchange.signal, size: body.size };
}

/** `endpoint` and `endpoint_code` are two names of one field. */
function selectorOf(body: Record<string, unknown>): { selector: string | undefined; rest: Record<string, unknown> } {
  const { endpoint, endpoint_code: code, ...rest } = body;
  for (const [param, value] of Object.entries({ endpoint, endpoint_code: code })) {
    if (value !== undefined && (typeof value !== 'string' || value === '')) {
      throw new Fault('invalid_field', `${param} must be an endpoint code.`, { param });
    }
  }
  if (endpoint !== undefined && code !== undefined && endpoint !== code) {
    throw new Fault('invalid_field', 'endpoint and endpoint_code name different endpoints.', { param: 'endpoint_code' });
  }
  return { selector: (endpoint ?? code) as string | undefined, rest };
}

/** Without a selector the model may carry it: `code/model`. */
function splitModel(selector: string | undefined, model: string): { code: string; model: string } {
  if (selector !== undefined) return { code: selector, model };
  const slash = model.indexOf('/');
  if (slash > 0) return { code: model.slice(0, slash), model: model.slice(slash + 1) };
  throw new Fault('missing_field', 'endpoint is required.', { param: 'endpoint' });
}

async function listEndpoints(exchange: Exchange, edge: Edge): Promise<Response> {
  const caller = edge.optionalCaller(exchange);
  const headers = caller ? rateHeaders(rateOf(await edge.standing(caller), 'chat', edge.parts)) : {};
  return json({ success: true, data: publicEndpoints(edge.parts.catalog()) }, exchange.requestId, headers);
}

/** The spec knows two kinds; an endpoint of another kind is not shown as one of them. */
function publicEndpoints(catalog: Catalog) {
  return [...catalog.endpoints.values()].filter(isPublic).map((endpoint) => ({
    endpoint: endpoint.code,
    name: endpoint.name,
    endpoint_type: endpoint.type,
    models: endpoint.models.map(({ id, displayName }) => ({ model: id, display_name: displayName })),
  }));
}

async function listModels(exchange: Exchange, edge: Edge): Promise<Response> {
  const standing = await edge.standing(edge.caller(exchange));
  const code = exchange.parameters[0] ?? '';
  const endpoint = edge.parts.catalog().endpoints.get(code);
  if (!endpoint || !isPublic(endpoint)) {
    throw new Fault('unknown_endpoint', `There is no endpoint '${code.slice(0, 100)}'.`, { param: 'code' });
  }
  const kind = endpoint.type === 'image_generation' ? 'images' : 'chat';
  return json(endpoint.models.map(modelEntry), exchange.requestId, rateHeaders(rateOf(standing, kind, edge.parts)));
}

function isPublic(endpoint: Endpoint): boolean {
  return endpoint.type !== 'embedding';
}

function modelEntry(model: Model) {
  return { model: model.id, display_name: model.displayName, source_table: model.list };
}

async function account(exchange: Exchange, edge: Edge): Promise<Response> {
  const standing = await edge.standing(edge.caller(exchange));
  const headers = rateHeaders(rateOf(standing, 'chat', edge.parts));
  return json(accountView(standing, edge.parts.catalog()), exchange.requestId, headers);
}
