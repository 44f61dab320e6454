import type { Catalog, Endpoint, Model } from '../catalog/catalog.ts';
import { relayImages } from '../relay/images.ts';
import { rateOf, tokenFirst } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import type { Store } from '../store/store.ts';
import { accountView } from './account-view.ts';
import { answerChat } from './chat-answer.ts';
import type { Edge, Exchange } from '../http/caller.ts';
import { answerImages, type ImageLinks } from './image-links.ts';
import { readJson } from '../http/json-body.ts';
import { callOf, publicChatCall, publicImageCall, under } from './public-calls.ts';
import { answerReceipt } from './receipt-answer.ts';
import { json, rateHeaders } from '../http/respond.ts';
import type { Replays } from '../http/idempotency/idempotency.ts';
import type { Route } from '../http/router.ts';

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
    {
      method: 'GET',
      path: `${prefix}/requests/*`,
      handle: (exchange) => answerReceipt(exchange, edge, parts.store),
    },
    {
      method: 'GET',
      path: `${prefix}/openapi.json`,
      handle: async ({ requestId }) => json(parts.openApi, requestId),
    },
    {
      method: 'GET',
      path: `${prefix}/images/*`,
      handle: ({ request, requestId, parameters }) =>
        parts.links.serve(request, requestId, parameters[0] ?? ''),
    },
  ];
}

async function chat(exchange: Exchange, { edge, replays }: PublicApiParts): Promise<Response> {
  const caller = edge.caller(exchange);
  const { call, body } = await tokenFirst({ caller, rate: 'chat' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    return { call: publicChatCall(callOf(exchange, caller, body), body.value), body };
  });
  return await replays.once(exchange, { caller, text: body.text }, (signal) =>
    answerChat(under(call, signal), edge.parts),
  );
}

async function images(exchange: Exchange, { edge, links, replays }: PublicApiParts): Promise<Response> {
  const caller = edge.caller(exchange);
  const { call, body } = await tokenFirst({ caller, rate: 'images' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    return { call: publicImageCall(callOf(exchange, caller, body), body.value), body };
  });
  return await replays.once(exchange, { caller, text: body.text }, async (signal) =>
    answerImages(await relayImages(under(call, signal), edge.parts), call, exchange.origin, links),
  );
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
  return json(
    endpoint.models.map(modelEntry),
    exchange.requestId,
    rateHeaders(rateOf(standing, kind, edge.parts)),
  );
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
