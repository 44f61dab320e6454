import { z } from 'zod';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer, json } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import type { ChatCall, CallBase } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import type { Fault } from '../std/fault.ts';
import { estimateTokens } from '../std/token-estimate.ts';
import { chatToMessages } from '../wire/anthropic/answer.ts';
import { countableMessages, withoutThread, messagesToChat } from '../wire/anthropic/to-chat.ts';
import {
  costlyTools,
  MESSAGES_FIELDS,
  selectBetas,
  messagesRequestSchema,
} from '../wire/anthropic/request.ts';
import { messagesEncoder } from '../wire/anthropic/stream.ts';
import { joinKnobs } from '../wire/field-table.ts';
import type { CountableInput } from '../wire/openai/countable-input.ts';
import { ANTHROPIC_ERRORS, KEYED_INFERENCE_ERRORS, COMMON_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { inference, MAX_COST_FIELD, routeSelector, streamResponse } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

/** An Anthropic backend's answer is passed on unchanged, including kinds that are newer than this list. */
function otherThan(...known: string[]): z.ZodType {
  return z.looseObject({ type: z.string().regex(new RegExp(`^(?!(?:${known.join('|')})$)`)) });
}

const contentBlock = z.union([
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.looseObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.looseObject({}),
  }),
  otherThan('text', 'thinking', 'tool_use'),
]);

const usage = z.looseObject({
  input_tokens: z.int().describe('Without what came from the cache'),
  cache_creation_input_tokens: z.int().nullish(),
  cache_read_input_tokens: z.int().nullish(),
  output_tokens: z.int(),
});

const messagesAnswer = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(contentBlock),
  stop_reason: z
    .string()
    .nullable()
    .describe('end_turn, max_tokens, tool_use, refusal, or another one of an Anthropic backend'),
  stop_sequence: z.string().nullable(),
  usage,
});

const blockDelta = z.union([
  z.looseObject({ type: z.literal('text_delta'), text: z.string() }),
  z.looseObject({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.looseObject({ type: z.literal('signature_delta'), signature: z.string() }),
  z.looseObject({ type: z.literal('input_json_delta'), partial_json: z.string() }),
  otherThan('text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta'),
]);

const messagesEvent = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('message_start'), message: messagesAnswer }),
  z.looseObject({ type: z.literal('ping') }),
  z.looseObject({
    type: z.literal('content_block_start'),
    index: z.int(),
    content_block: contentBlock,
  }),
  z.looseObject({ type: z.literal('content_block_delta'), index: z.int(), delta: blockDelta }),
  z.looseObject({ type: z.literal('content_block_stop'), index: z.int() }),
  z.looseObject({
    type: z.literal('message_delta'),
    delta: z.looseObject({ stop_reason: z.string().nullable(), stop_sequence: z.string().nullish() }),
    usage: z.looseObject({ output_tokens: z.int() }),
  }),
  z.looseObject({ type: z.literal('message_stop') }),
]);

export const messages: ApiOperation = {
  id: 'v1CreateMessage',
  method: 'POST',
  path: '/v1/messages',
  tag: 'Anthropic-compatible',
  summary: 'Create a message (Anthropic)',
  description:
    'The model is named as GET /v1/models lists it. With stream: true the answer is server-sent events. ' +
    'No thread is kept: one that is continued is not found.',
  token: 'required',
  idempotencyKey: true,
  request: {
    name: 'MessagesRequest',
    schema: messagesRequestSchema.extend(MAX_COST_FIELD),
    examples: {
      simple: {
        model: 'svc_chat/house-guide',
        max_tokens: 1024,
        messages: [{ role: 'user', content: 'What is a hold?' }],
      },
    },
  },
  answer: {
    description: 'The message, whole or as a stream',
    headers: 'paid',
    body: {
      name: 'MessagesAnswer',
      schema: messagesAnswer,
      examples: {
        answer: {
          id: 'msg_0WPlqUf4abcdefghijklmnop',
          type: 'message',
          role: 'assistant',
          model: 'svc_chat/house-guide',
          content: [{ type: 'text', text: 'Money set aside for a request.' }],
          stop_reason: 'end_turn',
          stop_sequence: null,
          usage: {
            input_tokens: 14,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 8,
          },
        },
      },
    },
    stream: {
      name: 'MessagesEvent',
      chunk: messagesEvent,
      description:
        'Each data line is a MessagesEvent or a MessagesError; its type is also in the event line.',
      hasErrorEvent: true,
      example:
        'event: content_block_delta\n' +
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Money"}}\n\n',
    },
  },
  errors: [...KEYED_INFERENCE_ERRORS, 'not_found'],
  dialect: ANTHROPIC_ERRORS,
  handle: inference({ rate: 'chat', read, answer }),
};

function read(
  base: CallBase,
  value: Record<string, unknown>,
  parts: ApiParts,
  incoming: IncomingRequest,
): ChatCall {
  const { body, knobs } = selectFields(withoutThread(value), MESSAGES_FIELDS);
  const asked = parseBody(messagesRequestSchema, body);
  const { headers } = incoming.request;
  const betas = selectBetas(headers.get('anthropic-beta'));
  let untranslatable: Fault | undefined;
  const request = messagesToChat(asked, (fault) => (untranslatable ??= fault));
  return {
    ...base,
    selector: routeSelector(parts, base, asked.model, 'chat_completion'),
    label: asked.model,
    request,
    cap: 'lowered',
    encoder: (labels) => messagesEncoder(labels, estimatedInput(countableMessages(asked))),
    knobs: joinKnobs(knobs, { costly: costlyTools(asked), leftOut: betas.leftOut }),
    // The two headers select the version and the beta features of the dialect.
    nativeRequest: {
      body,
      version: headers.get('anthropic-version') ?? undefined,
      beta: betas.passed,
      untranslatable,
    },
  };
}

/** A stream reports this number at its start, before the backend has counted anything. Nothing is charged by it. */
function estimatedInput({ texts, tokens }: CountableInput): number {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters > MOST_ESTIMATED) return tokens + Math.ceil(characters / USUAL_CHARACTERS_PER_TOKEN);
  return texts.reduce((sum, text) => sum + estimateTokens(text), tokens);
}

/** Looking at more text would delay other requests. */
const MOST_ESTIMATED = 65_536;
const USUAL_CHARACTERS_PER_TOKEN = 4;

async function answer(call: ChatCall, { relay }: ApiParts): Promise<Response> {
  const reply = await relayChat(call, relay);
  if (reply.kind === 'stream') return streamResponse(reply);
  const { shown } = reply;
  if (shown.passThrough) return paidAnswer(shown.text, reply.summary, reply.charged);
  const message = chatToMessages(shown.completion, { id: call.requestId, model: call.label });
  return paidAnswer(message, reply.summary, reply.charged);
}

export const hello: ApiOperation = {
  id: 'hello',
  method: 'GET',
  path: '/api/hello',
  tag: 'Anthropic-compatible',
  summary: 'Check that the server answers',
  description: "Anthropic's own client asks before its first request.",
  token: 'none',
  answer: {
    description: 'The server answers',
    headers: 'none',
    body: { name: 'Hello', schema: z.object({ ok: z.literal(true) }), examples: { example: { ok: true } } },
  },
  errors: COMMON_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: () => async (incoming) => json({ ok: true }, incoming.requestId),
};
