import { z } from 'zod';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer } from '../http/response.ts';
import type { ChatCall } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import type { Clock } from '../std/clock.ts';
import type { ResponseContext } from '../wire/responses/answer.ts';
import { joinKnobs } from '../wire/field-table.ts';
import {
  providerTools,
  RESPONSES_FIELDS,
  responsesRequestSchema,
  type ResponsesRequest,
} from '../wire/responses/request.ts';
import { chatToResponse, responsesEncoder } from '../wire/responses/stream.ts';
import { responsesToChat } from '../wire/responses/to-chat.ts';
import { KEYED_INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { inference, MAX_COST_FIELD, routeSelector, streamResponse, type CallBase } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete']);

const outputPart = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('output_text'),
    text: z.string(),
    annotations: z.array(z.unknown()),
    logprobs: z.array(z.unknown()),
  }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
]);

const summaryPart = z.object({ type: z.literal('summary_text'), text: z.string() });

const callFields = {
  id: z.string(),
  status: itemStatus,
  call_id: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
};

const outputItem = z.discriminatedUnion('type', [
  z.object({
    id: z.string(),
    type: z.literal('reasoning'),
    summary: z.array(summaryPart),
    encrypted_content: z.string().optional().describe('Where the backend gave it'),
  }),
  z.object({
    id: z.string(),
    type: z.literal('message'),
    status: itemStatus,
    role: z.literal('assistant'),
    content: z.array(outputPart),
  }),
  z.object({
    type: z.literal('function_call'),
    ...callFields,
    arguments: z.string().describe('JSON text'),
  }),
  z.object({ type: z.literal('custom_tool_call'), ...callFields, input: z.string() }),
]);

const errorFields = {
  code: z.string(),
  message: z.string(),
  type: z.string(),
  param: z.string().nullable(),
};

const responseObject = z.looseObject({
  id: z.string().describe('resp_ and the request id without req_'),
  object: z.literal('response'),
  created_at: z.int().describe('Seconds since 1970'),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  error: z.looseObject(errorFields).nullable(),
  incomplete_details: z.object({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
  model: z.string(),
  output: z.array(outputItem),
  usage: z
    .object({
      input_tokens: z.int(),
      input_tokens_details: z.object({ cached_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.object({ reasoning_tokens: z.int() }),
      total_tokens: z.int(),
    })
    .nullable(),
});

function event<Type extends string, Fields extends z.ZodRawShape>(types: readonly Type[], fields: Fields) {
  return z.object({ type: z.literal(types), sequence_number: z.int(), ...fields });
}

const inItem = { item_id: z.string(), output_index: z.int() };
const inContent = { ...inItem, content_index: z.int() };
const inSummary = { ...inItem, summary_index: z.int() };
const delta = z.string();
const logprobs = z.array(z.unknown());

const responsesEvent = z.discriminatedUnion('type', [
  event(
    [
      'response.created',
      'response.in_progress',
      'response.completed',
      'response.incomplete',
      'response.failed',
    ],
    { response: responseObject },
  ),
  event(['response.output_item.added', 'response.output_item.done'], {
    output_index: z.int(),
    item: outputItem,
  }),
  event(['response.content_part.added', 'response.content_part.done'], { ...inContent, part: outputPart }),
  event(['response.output_text.delta'], { ...inContent, delta, logprobs }),
  event(['response.output_text.done'], { ...inContent, text: z.string(), logprobs }),
  event(['response.output_text.annotation.added'], {
    ...inContent,
    annotation_index: z.int(),
    annotation: z.unknown(),
  }),
  event(['response.refusal.delta'], { ...inContent, delta }),
  event(['response.refusal.done'], { ...inContent, refusal: z.string() }),
  event(['response.reasoning_summary_part.added', 'response.reasoning_summary_part.done'], {
    ...inSummary,
    part: summaryPart,
  }),
  event(['response.reasoning_summary_text.delta'], { ...inSummary, delta }),
  event(['response.reasoning_summary_text.done'], { ...inSummary, text: z.string() }),
  event(['response.function_call_arguments.delta'], { ...inItem, delta }),
  event(['response.function_call_arguments.done'], {
    ...inItem,
    name: z.string(),
    arguments: z.string(),
  }),
  event(['response.custom_tool_call_input.delta'], { ...inItem, delta }),
  event(['response.custom_tool_call_input.done'], { ...inItem, input: z.string() }),
  event(['error'], {
    code: z.string(),
    message: z.string(),
    param: z.string().nullable(),
    error: z.looseObject(errorFields),
  }),
]);

export const responses: ApiOperation = {
  id: 'v1CreateResponse',
  method: 'POST',
  path: '/v1/responses',
  tag: 'OpenAI-compatible',
  summary: 'Create a response (OpenAI)',
  description:
    'The stateless part: nothing is stored, so previous_response_id, conversation and background are refused. ' +
    'With stream: true the answer is server-sent events.',
  token: 'required',
  idempotencyKey: true,
  request: {
    name: 'ResponsesRequest',
    schema: responsesRequestSchema.extend(MAX_COST_FIELD),
    examples: {
      simple: { model: 'svc_chat/house-guide', input: 'What is a hold?' },
      stream: {
        model: 'svc_chat/house-guide',
        instructions: 'Answer in one sentence.',
        input: [{ type: 'message', role: 'user', content: 'What is a hold?' }],
        stream: true,
      },
    },
  },
  answer: {
    description: 'The response, whole or as a stream',
    headers: 'paid',
    body: {
      name: 'ResponsesAnswer',
      schema: responseObject,
      examples: {
        answer: {
          id: 'resp_0WPlqUf4abcdefghijklmnop',
          object: 'response',
          created_at: 1_763_170_000,
          status: 'completed',
          error: null,
          incomplete_details: null,
          model: 'svc_chat/house-guide',
          output: [
            {
              id: 'msg_0WPlqUf4abcdefghijklmnop',
              type: 'message',
              status: 'completed',
              role: 'assistant',
              content: [
                {
                  type: 'output_text',
                  text: 'Money set aside for a request.',
                  annotations: [],
                  logprobs: [],
                },
              ],
            },
          ],
          usage: {
            input_tokens: 14,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: 8,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: 22,
          },
        },
      },
    },
    stream: {
      name: 'ResponsesEvent',
      chunk: responsesEvent,
      description: 'Each data line is a ResponsesEvent; its type is also in the event line.',
      example:
        'event: response.output_text.delta\n' +
        'data: {"type":"response.output_text.delta","item_id":"msg_0WPlqUf4abcdefghijklmnop","output_index":0,' +
        '"content_index":0,"delta":"Money","logprobs":[],"sequence_number":4}\n\n',
    },
  },
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: inference({ rate: 'chat', read: readResponses, answer: answerResponses }),
};

/** A chat call that came as a Responses request and is answered as one. */
export interface ResponsesCall extends ChatCall {
  readonly responses: ResponsesRequest;
}

export function isResponsesCall(call: ChatCall | ResponsesCall): call is ResponsesCall {
  return 'responses' in call;
}

export function readResponses(
  base: CallBase,
  value: Record<string, unknown>,
  parts: ApiParts,
): ResponsesCall {
  const { body, knobs } = selectFields(value, RESPONSES_FIELDS);
  const asked = parseBody(responsesRequestSchema, body);
  return {
    ...base,
    selector: routeSelector(parts, asked.model, 'chat_completion'),
    label: asked.model,
    request: responsesToChat(asked),
    knobs: joinKnobs(knobs, { leftOut: providerTools(asked) }),
    cap: 'lowered',
    encoder: (labels) => responsesEncoder(contextOf(labels, asked, parts.relay.clock)),
    responses: asked,
  };
}

export async function answerResponses(call: ResponsesCall, { relay }: ApiParts): Promise<Response> {
  const reply = await relayChat(call, relay);
  if (reply.kind === 'stream') return streamResponse(reply);
  const labels = { id: call.requestId, model: call.label };
  const context = contextOf(labels, call.responses, relay.clock);
  return paidAnswer(chatToResponse(reply.shown.completion, context), reply.summary, reply.charged);
}

function contextOf(
  labels: { id: string; model: string },
  request: ResponsesRequest,
  clock: Clock,
): ResponseContext {
  return { ...labels, created: Math.floor(clock.now() / 1000), request };
}
