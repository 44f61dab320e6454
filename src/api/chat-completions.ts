import { z } from 'zod';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer } from '../http/response.ts';
import type { ChatCall, ChatReply, Labels, RelayParts, CallBase } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import { openAiEncoder, withCost, type ChatEncoder } from '../wire/openai/answer.ts';
import { joinKnobs, type Knobs } from '../wire/field-table.ts';
import { CHAT_FIELDS, chatRequestSchema, ordinaryChat, type ChatRequest } from '../wire/openai/chat.ts';
import {
  completionWithoutThoughts,
  hidesThoughts,
  openRouterEffort,
  openRouterFields,
  withoutThoughts,
  type OpenRouterFields,
} from '../wire/openai/openrouter.ts';
import { KEYED_INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import {
  ENDPOINT_FIELDS,
  inference,
  MAX_COST_FIELD,
  routeSelector,
  splitModel,
  streamResponse,
  takeEndpointCode,
} from './inference.ts';
import type { ApiAnswer, ApiOperation, ApiParts } from './operation.ts';
import type { ResponsesCall } from './response-answer.ts';
import { answerResponses, isResponsesCall, readResponses } from './responses.ts';

const usage = z.looseObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  cost: z.number().optional().describe('What the request cost, in US dollars. Only under /v1.'),
});

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string().describe('JSON text') }),
});

const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(toolCall).optional(),
});

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);

const chatAnswer = z.looseObject({
  id: z.string().describe('Also in x-request-id; GET /requests/{id} has the receipt.'),
  object: z.literal('chat.completion'),
  created: z.int().describe('Seconds since 1970'),
  model: z.string(),
  choices: z.array(
    z.looseObject({ index: z.int(), message: assistantMessage, finish_reason: finishReason.nullable() }),
  ),
  usage,
});

const chatChunk = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({ index: z.int(), delta: z.looseObject({}), finish_reason: finishReason.nullish() }),
  ),
  usage: usage.nullish().describe('In the last chunk, when stream_options.include_usage was set'),
});

const QUESTION = [{ role: 'user', content: 'What is a hold?' }];

const ANSWER: ApiAnswer = {
  description: 'The answer, whole or as a stream',
  headers: 'paid',
  body: {
    name: 'ChatAnswer',
    schema: chatAnswer,
    examples: {
      answer: {
        id: 'req_0WPlqUf4abcdefghijklmnop',
        object: 'chat.completion',
        created: 1_763_170_000,
        model: 'house-guide',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Money set aside for a request.' },
            finish_reason: 'stop',
          },
        ],
        usage: { prompt_tokens: 14, completion_tokens: 8, total_tokens: 22 },
      },
    },
  },
  stream: {
    name: 'ChatChunk',
    chunk: chatChunk,
    description: 'Each data line is a ChatChunk, an Error, or [DONE].',
    hasErrorEvent: true,
    example:
      'data: {"id":"req_0WPlqUf4abcdefghijklmnop","object":"chat.completion.chunk","created":1763170000,' +
      '"model":"house-guide","choices":[{"index":0,"delta":{"role":"assistant","content":"Money"},"finish_reason":null}]}\n\n' +
      'data: [DONE]\n\n',
  },
};

const STREAMING =
  'With stream: true the answer is server-sent events: chunks, then [DONE], or one error event. ';

export const publicChatSchema = chatRequestSchema.extend({ ...openRouterFields.shape, ...ENDPOINT_FIELDS });

export const chatCompletions: ApiOperation = {
  id: 'createChatCompletion',
  method: 'POST',
  path: '/api/public/v1/chat/completions',
  tag: 'Inference',
  summary: 'Create a chat completion',
  description: `${STREAMING}Unknown fields are dropped and named in x-tollgate-dropped.`,
  token: 'required',
  idempotencyKey: true,
  request: {
    name: 'ChatRequest',
    schema: publicChatSchema,
    examples: {
      simple: { endpoint: 'svc_chat', model: 'house-guide', messages: QUESTION },
      stream: {
        model: 'svc_chat/house-guide',
        messages: QUESTION,
        stream: true,
        stream_options: { include_usage: true },
      },
    },
  },
  answer: ANSWER,
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: inference({
    rate: 'chat',
    read: publicChatCall,
    answer: (call, parts) => answerChat(call, parts.relay),
  }),
};

export const v1ChatCompletions: ApiOperation = {
  id: 'v1CreateChatCompletion',
  method: 'POST',
  path: '/v1/chat/completions',
  tag: 'OpenAI-compatible',
  summary: 'Create a chat completion (OpenAI)',
  description:
    `${STREAMING}The model is named as GET /v1/models lists it. A max_tokens above the model's is lowered. ` +
    'A body with input instead of messages is taken, and answered, as one of /v1/responses.',
  token: 'required',
  idempotencyKey: true,
  request: {
    name: 'V1ChatRequest',
    schema: chatRequestSchema.extend({ ...openRouterFields.shape, ...MAX_COST_FIELD }),
    examples: { simple: { model: 'svc_chat/house-guide', messages: QUESTION } },
  },
  answer: ANSWER,
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: inference<OpenAiChatCall | ResponsesCall>({
    rate: 'chat',
    // Some editors send a Responses body to the chat path.
    read: (base, body, parts) =>
      body['messages'] === undefined && body['input'] !== undefined
        ? readResponses(base, body, parts)
        : readV1Chat(base, body, parts),
    answer: (call, parts, incoming) =>
      isResponsesCall(call) ? answerResponses(call, parts, incoming) : answerV1Chat(call, parts.relay),
  }),
};

/** A chat that is answered in OpenAI's shape. */
export interface OpenAiChatCall extends ChatCall {
  /** The client wants no thoughts in its answer. */
  readonly hidesThoughts: boolean;
}

/** `undefined` where the body has none of OpenRouter's fields, as most. */
function openRouterFieldsOf(value: Record<string, unknown>): OpenRouterFields | undefined {
  const { reasoning, include_reasoning, usage: usageWish } = value;
  if (reasoning === undefined && include_reasoning === undefined && usageWish === undefined) return undefined;
  return parseBody(openRouterFields, { reasoning, include_reasoning, usage: usageWish });
}

function checkedChat(body: Record<string, unknown>, asked: OpenRouterFields | undefined): ChatRequest {
  const canonical = asked ? withEffort(body, asked) : body;
  return ordinaryChat(canonical) ?? (parseBody(chatRequestSchema, canonical) as ChatRequest);
}

/**
 * LiteLLM's name for what it keeps beside an answer. Whoever sends that answer back, as its pages say, sends it along, and strict backends
 * refuse it.
 */
const KEPT_BY_CLIENT = 'provider_specific_fields';

/** Hardly any request has it, so nothing is copied before it is found. */
function withoutKept(
  request: ChatRequest,
  knobs: Knobs | undefined,
): Pick<OpenAiChatCall, 'request' | 'knobs'> {
  if (!request.messages.some(hasKept)) return { request, knobs };
  const messages = request.messages.map((message) => {
    if (!hasKept(message)) return message;
    const { [KEPT_BY_CLIENT]: _, tool_calls: calls, ...rest } = message;
    const bare = calls?.map(({ [KEPT_BY_CLIENT]: _kept, ...call }) => call);
    return bare ? { ...rest, tool_calls: bare } : rest;
  });
  const leftOut = [`messages.${KEPT_BY_CLIENT}`];
  return { request: { ...request, messages }, knobs: joinKnobs(knobs, { leftOut }) };
}

function hasKept(message: ChatRequest['messages'][number]): boolean {
  if (message.role !== 'assistant') return false;
  return KEPT_BY_CLIENT in message || (message.tool_calls?.some((call) => KEPT_BY_CLIENT in call) ?? false);
}

function withEffort(body: Record<string, unknown>, asked: OpenRouterFields): Record<string, unknown> {
  const { reasoning: _, ...rest } = body;
  const effort = openRouterEffort(asked);
  return effort === undefined ? rest : { reasoning_effort: effort, ...rest };
}

function includesUsage(
  { stream_options: options }: ChatRequest,
  asked: OpenRouterFields | undefined,
  client: string,
): boolean {
  return options?.include_usage === true || asked?.usage?.include === true || client.includes(EXPECTS_USAGE);
}

/**
 * In the User-Agent of `@openrouter/ai-sdk-provider`: it counts on the usage of every stream, as OpenRouter sends it, and
 * does not ask for it unless it is told to be strict.
 */
const EXPECTS_USAGE = 'ai-sdk/openrouter/';

/** A checked chat request of the public API. */
export function publicChatCall(base: CallBase, value: Record<string, unknown>): OpenAiChatCall {
  const endpoint = takeEndpointCode(value);
  const asked = openRouterFieldsOf(value);
  const { body, knobs } = selectFields(value, CHAT_FIELDS);
  const request = checkedChat(body, asked);
  const sent = withoutKept(request, knobs);
  const { code, model } = splitModel(endpoint, request.model);
  return {
    requestId: base.requestId,
    caller: base.caller,
    client: base.client,
    connection: base.connection,
    size: base.size,
    maxCost: base.maxCost,
    requestRecord: base.requestRecord,
    tags: base.tags,
    selector: { code, model, type: 'chat_completion' },
    label: model,
    request: sent.request,
    knobs: sent.knobs,
    cap: 'strict',
    hidesThoughts: asked !== undefined && hidesThoughts(asked),
    encoder: isOrdinary(base, asked) ? publicEncoder : encoderAsAsked(base, asked, false),
  };
}

function readV1Chat(base: CallBase, value: Record<string, unknown>, parts: ApiParts): OpenAiChatCall {
  const asked = openRouterFieldsOf(value);
  const { body, knobs } = selectFields(value, CHAT_FIELDS);
  const request = checkedChat(body, asked);
  const sent = withoutKept(request, knobs);
  return {
    requestId: base.requestId,
    caller: base.caller,
    client: base.client,
    connection: base.connection,
    size: base.size,
    maxCost: base.maxCost,
    requestRecord: base.requestRecord,
    tags: base.tags,
    selector: routeSelector(parts, base, request.model, 'chat_completion'),
    label: request.model,
    request: sent.request,
    knobs: sent.knobs,
    cap: 'lowered',
    hidesThoughts: asked !== undefined && hidesThoughts(asked),
    encoder: isOrdinary(base, asked) ? v1Encoder : encoderAsAsked(base, asked, true),
  };
}

/** It has none of OpenRouter's fields, like most requests, so its encoder needs no state. */
function isOrdinary({ client }: CallBase, asked: OpenRouterFields | undefined): boolean {
  return asked === undefined && !client.includes(EXPECTS_USAGE);
}

function publicEncoder(labels: Labels, { stream_options }: ChatRequest): ChatEncoder {
  return openAiEncoder(labels, stream_options?.include_usage === true);
}

function v1Encoder(labels: Labels, { stream_options }: ChatRequest): ChatEncoder {
  return openAiEncoder(labels, stream_options?.include_usage === true, true);
}

function encoderAsAsked(
  { client }: CallBase,
  asked: OpenRouterFields | undefined,
  withCosts: boolean,
): ChatCall['encoder'] {
  return (labels, request) => {
    const encoder = openAiEncoder(labels, includesUsage(request, asked, client), withCosts);
    return asked && hidesThoughts(asked) ? withoutThoughts(encoder) : encoder;
  };
}

/** Runs a chat call and answers in OpenAI's shape. */
export async function answerChat(call: OpenAiChatCall, parts: RelayParts): Promise<Response> {
  const reply = await relayChat(call, parts);
  if (reply.kind === 'stream') return streamResponse(reply);
  return paidAnswer(shownText(call, reply), reply.summary, reply.charged);
}

function shownText(call: OpenAiChatCall, { shown }: WholeReply): string {
  return call.hidesThoughts ? JSON.stringify(completionWithoutThoughts(shown.completion)) : shown.text;
}

type WholeReply = Extract<ChatReply, { kind: 'whole' }>;

/** The same with the request's cost in its usage, where OpenRouter's clients look for it. */
async function answerV1Chat(call: OpenAiChatCall, parts: RelayParts): Promise<Response> {
  const reply = await relayChat(call, parts);
  if (reply.kind === 'stream') return streamResponse(reply);
  const { summary, charged } = reply;
  return paidAnswer(withCost(shownText(call, reply), charged), summary, charged);
}
