import { rateOf, tokenFirst } from '../relay/admission.ts';
import type { ChatCall } from '../relay/call.ts';
import { relayEmbeddings } from '../relay/embeddings.ts';
import { relayImages } from '../relay/images.ts';
import { Fault } from '../std/fault.ts';
import { chatRequestSchema, type ChatRequest } from '../wire/openai/chat.ts';
import { openAiEncoder } from '../wire/openai/chat-stream.ts';
import { embeddingRequestSchema, type EmbeddingRequest } from '../wire/openai/embeddings.ts';
import { imageRequestSchema, type ImageRequest } from '../wire/openai/images.ts';
import { modelsList, oneModel } from '../wire/openai/models-list.ts';
import { answerChat } from './chat-answer.ts';
import type { Edge, Exchange } from '../http/caller.ts';
import { readImageForm } from './image-form.ts';
import { answerImages, type ImageLinks } from './image-links.ts';
import { readJson, type JsonBody } from '../http/json-body.ts';
import { modelEntries } from './model-entries.ts';
import { parseBody, withoutNulls } from '../http/parse-body.ts';
import { callOf, under } from './public-calls.ts';
import { json, paidAnswer, rateHeaders } from '../http/respond.ts';
import type { Replays } from '../http/idempotency/idempotency.ts';
import { answerResponses, readResponses } from './responses-api.ts';
import type { Route } from '../http/router.ts';
import { wantedOf } from './route-selector.ts';

export interface V1Parts {
  readonly edge: Edge;
  readonly links: ImageLinks;
  readonly replays: Replays;
}

/** OpenAI's paths, for clients that can set a base URL, a key and a model and nothing else. */
export function v1Api(parts: V1Parts): Route[] {
  return [
    { method: 'GET', path: '/v1/models', handle: (exchange) => models(exchange, parts.edge) },
    { method: 'GET', path: '/v1/models/**', handle: (exchange) => model(exchange, parts.edge) },
    { method: 'POST', path: '/v1/chat/completions', handle: (exchange) => chat(exchange, parts) },
    { method: 'POST', path: '/v1/images/generations', handle: (exchange) => images(exchange, parts) },
    { method: 'POST', path: '/v1/images/edits', handle: (exchange) => edits(exchange, parts) },
    { method: 'POST', path: '/v1/responses', handle: (exchange) => responses(exchange, parts) },
    { method: 'POST', path: '/v1/embeddings', handle: (exchange) => embeddings(exchange, parts.edge) },
  ];
}

async function models(exchange: Exchange, edge: Edge): Promise<Response> {
  const standing = await edge.standing(edge.caller(exchange));
  const headers = rateHeaders(rateOf(standing, 'chat', edge.parts));
  return json(modelsList(modelEntries(edge.parts.catalog())), exchange.requestId, headers);
}

async function model(exchange: Exchange, edge: Edge): Promise<Response> {
  await edge.standing(edge.caller(exchange));
  const id = exchange.parameters[0] ?? '';
  const entry = modelEntries(edge.parts.catalog()).find((candidate) => candidate.id === id);
  if (!entry) throw new Fault('not_found', `There is no model '${id.slice(0, 100)}'.`, { param: 'model' });
  return json(oneModel(entry), exchange.requestId);
}

async function chat(exchange: Exchange, parts: V1Parts): Promise<Response> {
  const { edge } = parts;
  const caller = edge.caller(exchange);
  const { body, answer } = await tokenFirst({ caller, rate: 'chat' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    // Some editors post the newer shape to the older path.
    if (body.value['messages'] === undefined && body.value['input'] !== undefined) {
      const call = readResponses(exchange, caller, body, edge);
      return { body, answer: (signal?: AbortSignal) => answerResponses(under(call, signal), edge.parts) };
    }
    const call = chatCall(exchange, caller, body, edge);
    return { body, answer: (signal?: AbortSignal) => answerChat(under(call, signal), edge.parts) };
  });
  return await parts.replays.once(exchange, { caller, text: body.text }, answer);
}

function chatCall(
  exchange: Exchange,
  caller: ReturnType<Edge['caller']>,
  body: JsonBody,
  edge: Edge,
): ChatCall {
  const request = parseBody(chatRequestSchema, withoutNulls(body.value)) as ChatRequest;
  return {
    ...callOf(exchange, caller, body),
    wanted: wantedOf(edge, request.model, 'chat_completion'),
    label: request.model,
    request,
    cap: 'lowered',
    encoder: (labels) => openAiEncoder(labels, request.stream_options?.include_usage === true),
  };
}

async function responses(exchange: Exchange, { edge, replays }: V1Parts): Promise<Response> {
  const caller = edge.caller(exchange);
  const { call, body } = await tokenFirst({ caller, rate: 'chat' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    return { call: readResponses(exchange, caller, body, edge), body };
  });
  return await replays.once(exchange, { caller, text: body.text }, (signal) =>
    answerResponses(under(call, signal), edge.parts),
  );
}

async function images(exchange: Exchange, { edge, links, replays }: V1Parts): Promise<Response> {
  const caller = edge.caller(exchange);
  const { call, body } = await tokenFirst({ caller, rate: 'images' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    const request = parseBody(imageRequestSchema, withoutNulls(body.value)) as ImageRequest;
    return { call: imageCall(exchange, caller, body, { request, edge }), body };
  });
  return await replays.once(exchange, { caller, text: body.text }, async (signal) =>
    answerImages(await relayImages(under(call, signal), edge.parts), call, exchange.origin, links),
  );
}

/** An edit is a generation with pictures to start from; it comes as a form. */
async function edits(exchange: Exchange, { edge, links }: V1Parts): Promise<Response> {
  const caller = edge.caller(exchange);
  const call = await tokenFirst({ caller, rate: 'images' }, edge.parts, async () => {
    const { request, size } = await readImageForm(exchange.request);
    return imageCall(exchange, caller, { size }, { request, edge });
  });
  return answerImages(await relayImages(call, edge.parts), call, exchange.origin, links);
}

function imageCall(
  exchange: Exchange,
  caller: ReturnType<Edge['caller']>,
  body: Pick<JsonBody, 'size'>,
  { request, edge }: { request: ImageRequest; edge: Edge },
) {
  const wanted = wantedOf(edge, request.model, 'image_generation');
  return {
    ...callOf(exchange, caller, body),
    wanted,
    label: request.model,
    request,
    cap: 'lowered' as const,
  };
}

async function embeddings(exchange: Exchange, edge: Edge): Promise<Response> {
  const caller = edge.caller(exchange);
  const call = await tokenFirst({ caller, rate: 'chat' }, edge.parts, async () => {
    const body = await readJson(exchange.request);
    const request = parseBody(embeddingRequestSchema, withoutNulls(body.value)) as EmbeddingRequest;
    const wanted = wantedOf(edge, request.model, 'embedding');
    return {
      ...callOf(exchange, caller, body),
      wanted,
      label: request.model,
      request,
      cap: 'lowered' as const,
    };
  });
  const reply = await relayEmbeddings(call, edge.parts);
  return paidAnswer(reply.text, reply.terms, reply.charged);
}
