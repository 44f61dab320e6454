import type { Catalog, Endpoint, Model } from '../catalog/catalog.ts';
import { relayImages } from '../relay/images.ts';
import { rateOf, preferTokenError } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import type { Store } from '../store/store.ts';
import { accountView } from './account-view.ts';
import { answerChat } from './chat-answer.ts';
import type { CallerAuth, Exchange } from '../http/caller.ts';
import { answerImages, type ImageLinks } from './image-links.ts';
import { readJson } from '../http/json-body.ts';
import { callOf, publicChatCall, publicImageCall, withSignal } from './public-calls.ts';
import { answerReceipt } from './receipt-answer.ts';
import { json, rateHeaders } from '../http/respond.ts';
import type { Idempotency } from '../http/idempotency/idempotency.ts';
import type { HttpRoute } from '../http/router.ts';

export interface PublicApiParts {
  readonly callerAuth: CallerAuth;
  readonly links: ImageLinks;
  readonly store: Store;
  readonly idempotency: Idempotency;
  readonly openApi: unknown;
}

/** The spec's operations, under its prefix, and what goes with them. */
export function publicApi(parts: PublicApiParts): HttpRoute[] {
  const { callerAuth } = parts;
  const prefix = '/api/public/v1';
  return [
    { method: 'POST', path: `${prefix}/chat/completions`, handle: (exchange) => chat(exchange, parts) },
    { method: 'POST', path: `${prefix}/images/generations`, handle: (exchange) => images(exchange, parts) },
    { method: 'GET', path: `${prefix}/models`, handle: (exchange) => listEndpoints(exchange, callerAuth) },
    {
      method: 'GET',
      path: `${prefix}/endpoints/*/models`,
      handle: (exchange) => listModels(exchange, callerAuth),
    },
    { method: 'GET', path: `${prefix}/account`, handle: (exchange) => account(exchange, callerAuth) },
    {
      method: 'GET',
      path: `${prefix}/requests/*`,
      handle: (exchange) => answerReceipt(exchange, callerAuth, parts.store),
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

async function chat(exchange: Exchange, { callerAuth, idempotency }: PublicApiParts): Promise<Response> {
  const caller = callerAuth.caller(exchange);
  const { call, body } = await preferTokenError({ caller, rate: 'chat' }, callerAuth.parts, async () => {
    const body = await readJson(exchange.request);
    return { call: publicChatCall(callOf(exchange, caller, body), body.value), body };
  });
  return await idempotency.once(exchange, { caller, text: body.text }, (signal) =>
    answerChat(withSignal(call, signal), callerAuth.parts),
  );
}

async function images(
  exchange: Exchange,
  { callerAuth, links, idempotency }: PublicApiParts,
): Promise<Response> {
  const caller = callerAuth.caller(exchange);
  const { call, body } = await preferTokenError({ caller, rate: 'images' }, callerAuth.parts, async () => {
    const body = await readJson(exchange.request);
    return { call: publicImageCall(callOf(exchange, caller, body), body.value), body };
  });
  return await idempotency.once(exchange, { caller, text: body.text }, async (signal) =>
    answerImages(await relayImages(withSignal(call, signal), callerAuth.parts), call, exchange.origin, links),
  );
}

async function listEndpoints(exchange: Exchange, callerAuth: CallerAuth): Promise<Response> {
  const caller = callerAuth.optionalCaller(exchange);
  const headers = caller
    ? rateHeaders(rateOf(await callerAuth.account(caller), 'chat', callerAuth.parts))
    : {};
  return json(
    { success: true, data: publicEndpoints(callerAuth.parts.catalog()) },
    exchange.requestId,
    headers,
  );
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

async function listModels(exchange: Exchange, callerAuth: CallerAuth): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(exchange));
  const code = exchange.parameters[0] ?? '';
  const endpoint = callerAuth.parts.catalog().endpoints.get(code);
  if (!endpoint || !isPublic(endpoint)) {
    throw new Fault('unknown_endpoint', `There is no endpoint '${code.slice(0, 100)}'.`, { param: 'code' });
  }
  const kind = endpoint.type === 'image_generation' ? 'images' : 'chat';
  return json(
    endpoint.models.map(modelEntry),
    exchange.requestId,
    rateHeaders(rateOf(snapshot, kind, callerAuth.parts)),
  );
}

function isPublic(endpoint: Endpoint): boolean {
  return endpoint.type !== 'embedding';
}

function modelEntry(model: Model) {
  return { model: model.id, display_name: model.displayName, source_table: model.list };
}

async function account(exchange: Exchange, callerAuth: CallerAuth): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(exchange));
  const headers = rateHeaders(rateOf(snapshot, 'chat', callerAuth.parts));
  return json(accountView(snapshot, callerAuth.parts.catalog()), exchange.requestId, headers);
}
