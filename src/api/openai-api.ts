import { rateOf, preferTokenError } from '../relay/admission.ts';
import type { ChatCall } from '../relay/call.ts';
import { relayEmbeddings } from '../relay/embeddings.ts';
import { relayImages } from '../relay/images.ts';
import { Fault } from '../std/fault.ts';
import { chatRequestSchema, type ChatRequest } from '../wire/openai/chat.ts';
import { openAiEncoder } from '../wire/openai/answer.ts';
import { embeddingRequestSchema, type EmbeddingRequest } from '../wire/openai/embeddings.ts';
import { imageRequestSchema, type ImageRequest } from '../wire/openai/images.ts';
import { modelsList, oneModel } from '../wire/openai/models-list.ts';
import { answerChat } from './chat-answer.ts';
import type { CallerAuth, Exchange } from '../http/caller.ts';
import { readImageForm } from './image-form.ts';
import { answerImages, type ImageLinks } from './image-links.ts';
import { readJson, type JsonBody, parseBody, withoutNulls } from '../http/json-body.ts';
import { modelEntries } from './model-entries.ts';
import { callOf, withSignal } from './public-calls.ts';
import { json, paidAnswer, rateHeaders } from '../http/respond.ts';
import type { Idempotency } from '../http/idempotency/idempotency.ts';
import { answerResponses, readResponses } from './responses-api.ts';
import type { HttpRoute } from '../http/router.ts';
import { routeSelector } from './route-selector.ts';

export interface V1Parts {
  readonly callerAuth: CallerAuth;
  readonly links: ImageLinks;
  readonly idempotency: Idempotency;
}

/** OpenAI's paths, for clients that can set a base URL, a key and a model and nothing else. */
export function v1Api(parts: V1Parts): HttpRoute[] {
  return [
    { method: 'GET', path: '/v1/models', handle: (exchange) => models(exchange, parts.callerAuth) },
    { method: 'GET', path: '/v1/models/**', handle: (exchange) => model(exchange, parts.callerAuth) },
    { method: 'POST', path: '/v1/chat/completions', handle: (exchange) => chat(exchange, parts) },
    { method: 'POST', path: '/v1/images/generations', handle: (exchange) => images(exchange, parts) },
    { method: 'POST', path: '/v1/images/edits', handle: (exchange) => edits(exchange, parts) },
    { method: 'POST', path: '/v1/responses', handle: (exchange) => responses(exchange, parts) },
    { method: 'POST', path: '/v1/embeddings', handle: (exchange) => embeddings(exchange, parts.callerAuth) },
  ];
}

async function models(exchange: Exchange, callerAuth: CallerAuth): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(exchange));
  const headers = rateHeaders(rateOf(snapshot, 'chat', callerAuth.parts));
  return json(modelsList(modelEntries(callerAuth.parts.catalog())), exchange.requestId, headers);
}

async function model(exchange: Exchange, callerAuth: CallerAuth): Promise<Response> {
  await callerAuth.account(callerAuth.caller(exchange));
  const id = exchange.parameters[0] ?? '';
  const entry = modelEntries(callerAuth.parts.catalog()).find((candidate) => candidate.id === id);
  if (!entry) throw new Fault('not_found', `There is no model '${id.slice(0, 100)}'.`, { param: 'model' });
  return json(oneModel(entry), exchange.requestId);
}

async function chat(exchange: Exchange, parts: V1Parts): Promise<Response> {
  const { callerAuth } = parts;
  const caller = callerAuth.caller(exchange);
  const { body, answer } = await preferTokenError({ caller, rate: 'chat' }, callerAuth.parts, async () => {
    const body = await readJson(exchange.request);
    // Some editors post the newer shape to the older path.
    if (body.value['messages'] === undefined && body.value['input'] !== undefined) {
      const call = readResponses(exchange, caller, body, callerAuth);
      return {
        body,
        answer: (signal?: AbortSignal) => answerResponses(withSignal(call, signal), callerAuth.parts),
      };
    }
    const call = chatCall(exchange, caller, body, callerAuth);
    return { body, answer: (signal?: AbortSignal) => answerChat(withSignal(call, signal), callerAuth.parts) };
  });
  return await parts.idempotency.once(exchange, { caller, text: body.text }, answer);
}

function chatCall(
  exchange: Exchange,
  caller: ReturnType<CallerAuth['caller']>,
  body: JsonBody,
  callerAuth: CallerAuth,
): ChatCall {
  const request = parseBody(chatRequestSchema, withoutNulls(body.value)) as ChatRequest;
  return {
    ...callOf(exchange, caller, body),
    selector: routeSelector(callerAuth, request.model, 'chat_completion'),
    label: request.model,
    request,
    cap: 'lowered',
    encoder: (labels) => openAiEncoder(labels, request.stream_options?.include_usage === true),
  };
}

async function responses(exchange: Exchange, { callerAuth, idempotency }: V1Parts): Promise<Response> {
  const caller = callerAuth.caller(exchange);
  const { call, body } = await preferTokenError({ caller, rate: 'chat' }, callerAuth.parts, async () => {
    const body = await readJson(exchange.request);
    return { call: readResponses(exchange, caller, body, callerAuth), body };
  });
  return await idempotency.once(exchange, { caller, text: body.text }, (signal) =>
    answerResponses(withSignal(call, signal), callerAuth.parts),
  );
}

async function images(exchange: Exchange, { callerAuth, links, idempotency }: V1Parts): Promise<Response> {
  const caller = callerAuth.caller(exchange);
  const { call, body } = await preferTokenError({ caller, rate: 'images' }, callerAuth.parts, async () => {
    const body = await readJson(exchange.request);
    const request = parseBody(imageRequestSchema, withoutNulls(body.value)) as ImageRequest;
    return { call: imageCall(exchange, caller, body, { request, callerAuth }), body };
  });
  return await idempotency.once(exchange, { caller, text: body.text }, async (signal) =>
    answerImages(await relayImages(withSignal(call, signal), callerAuth.parts), call, exchange.origin, links),
  );
}

/** An edit is a generation with pictures to start from; it comes as a form. */
async function edits(exchange: Exchange, { callerAuth, links }: V1Parts): Promise<Response> {
  const caller = callerAuth.caller(exchange);
  const call = await preferTokenError({ caller, rate: 'images' }, callerAuth.parts, async () => {
    const { request, size } = await readImageForm(exchange.request);
    return imageCall(exchange, caller, { size }, { request, callerAuth });
  });
  return answerImages(await relayImages(call, callerAuth.parts), call, exchange.origin, links);
}

function imageCall(
  exchange: Exchange,
  caller: ReturnType<CallerAuth['caller']>,
  body: Pick<JsonBody, 'size'>,
  { request, callerAuth }: { request: ImageRequest; callerAuth: CallerAuth },
) {
  const selector = routeSelector(callerAuth, request.model, 'image_generation');
  return {
    ...callOf(exchange, caller, body),
    selector,
    label: request.model,
    request,
    cap: 'lowered' as const,
  };
}

async function embeddings(exchange: Exchange, callerAuth: CallerAuth): Promise<Response> {
  const caller = callerAuth.caller(exchange);
  const call = await preferTokenError({ caller, rate: 'chat' }, callerAuth.parts, async () => {
    const body = await readJson(exchange.request);
    const request = parseBody(embeddingRequestSchema, withoutNulls(body.value)) as EmbeddingRequest;
    const selector = routeSelector(callerAuth, request.model, 'embedding');
    return {
      ...callOf(exchange, caller, body),
      selector,
      label: request.model,
      request,
      cap: 'lowered' as const,
    };
  });
  const reply = await relayEmbeddings(call, callerAuth.parts);
  return paidAnswer(reply.text, reply.terms, reply.charged);
}
