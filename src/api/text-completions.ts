import { z } from 'zod';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer } from '../http/response.ts';
import type { ChatCall, CallBase } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import { withCost } from '../wire/openai/answer.ts';
import {
  chatToTextCompletion,
  textCompletionEncoder,
  TEXT_COMPLETION_FIELDS,
  textCompletionRequestSchema,
  textCompletionToChat,
  type TextCompletionContext,
  type TextCompletionRequest,
} from '../wire/openai/text-completions.ts';
import { KEYED_INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { inference, MAX_COST_FIELD, routeSelector, streamResponse } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const logprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number()),
  top_logprobs: z.array(z.record(z.string(), z.number())),
  text_offset: z.array(z.int()),
});

const textCompletion = z.looseObject({
  id: z.string().describe('Also in x-request-id; GET /requests/{id} has the receipt.'),
  object: z.literal('text_completion'),
  created: z.int().describe('Seconds since 1970'),
  model: z.string(),
  choices: z.array(
    z.object({
      text: z.string(),
      index: z.int(),
      logprobs: logprobs.nullable(),
      finish_reason: z.enum(['stop', 'length', 'content_filter']).nullable(),
    }),
  ),
  usage: z
    .looseObject({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      total_tokens: z.int(),
      cost: z.number().optional().describe('What the request cost, in US dollars.'),
    })
    .optional()
    .describe('Of a stream in its last chunk, when stream_options.include_usage was set'),
});

const ID = 'req_0WPlqUf4abcdefghijklmnop';

export const textCompletions: ApiOperation = {
  id: 'v1CreateCompletion',
  method: 'POST',
  path: '/v1/completions',
  tag: 'OpenAI-compatible',
  summary: 'Create a text completion (OpenAI)',
  description:
    'The backend is asked in a chat whose only message is the prompt. One prompt to a request; suffix is refused. ' +
    'With stream: true the answer is server-sent events: chunks, then [DONE], or one error event.',
  token: 'required',
  idempotencyKey: true,
  request: {
    name: 'TextCompletionRequest',
    schema: textCompletionRequestSchema.extend(MAX_COST_FIELD),
    examples: {
      simple: { model: 'svc_chat/house-echo', prompt: 'A toll gate is', max_tokens: 100 },
      stream: {
        model: 'svc_chat/house-echo',
        prompt: ['A toll gate is'],
        max_tokens: 100,
        stream: true,
        stream_options: { include_usage: true },
      },
    },
  },
  answer: {
    description: 'The text, whole or as a stream',
    headers: 'paid',
    body: {
      name: 'TextCompletion',
      schema: textCompletion,
      examples: {
        answer: {
          id: ID,
          object: 'text_completion',
          created: 1_763_170_000,
          model: 'svc_chat/house-echo',
          choices: [{ text: 'A toll gate is', index: 0, logprobs: null, finish_reason: 'stop' }],
          usage: { cost: 0.0000046, prompt_tokens: 14, completion_tokens: 8, total_tokens: 22 },
        },
      },
    },
    stream: {
      name: 'TextCompletion',
      chunk: textCompletion,
      description: 'Each data line is a TextCompletion with a piece of the text, an Error, or [DONE].',
      hasErrorEvent: true,
      example:
        `data: {"id":"${ID}","object":"text_completion","created":1763170000,"model":"svc_chat/house-echo",` +
        '"choices":[{"text":"A toll","index":0,"logprobs":null,"finish_reason":null}]}\n\n' +
        'data: [DONE]\n\n',
    },
  },
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: inference({ rate: 'chat', read, answer }),
};

interface TextCompletionCall extends ChatCall {
  readonly completion: TextCompletionRequest;
}

function read(base: CallBase, value: Record<string, unknown>, parts: ApiParts): TextCompletionCall {
  const { body, knobs } = selectFields(value, TEXT_COMPLETION_FIELDS);
  const asked = parseBody(textCompletionRequestSchema, body) as TextCompletionRequest;
  return {
    ...base,
    selector: routeSelector(parts, base, asked.model, 'chat_completion'),
    label: asked.model,
    request: textCompletionToChat(asked),
    knobs,
    cap: 'lowered',
    encoder: (labels) => textCompletionEncoder(contextOf(labels, asked, parts)),
    completion: asked,
  };
}

async function answer(call: TextCompletionCall, parts: ApiParts): Promise<Response> {
  const reply = await relayChat(call, parts.relay);
  if (reply.kind === 'stream') return streamResponse(reply);
  const { summary, charged, shown } = reply;
  const context = contextOf({ id: call.requestId, model: call.label }, call.completion, parts);
  const whole = JSON.stringify(chatToTextCompletion(shown.completion, context));
  return paidAnswer(withCost(whole, charged), summary, charged);
}

function contextOf(
  labels: { id: string; model: string },
  request: TextCompletionRequest,
  { relay }: ApiParts,
): TextCompletionContext {
  return { ...labels, created: Math.floor(relay.clock.now() / 1000), request };
}
