import { z } from 'zod';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import { preferTokenError } from '../relay/admission.ts';
import type { ChatCall, CallBase } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import { joinKnobs } from '../wire/field-table.ts';
import { providerTools, RESPONSES_FIELDS, responsesRequestSchema } from '../wire/responses/request.ts';
import { KEYED_INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { inference, MAX_COST_FIELD, routeSelector, streamResponse } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';
import { ResponseAnswer, type ResponsesCall } from './response-answer.ts';

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

export const responseSchema = z.looseObject({
  id: z.string().describe('resp_ and the request id without req_'),
  object: z.literal('response'),
  created_at: z.int().describe('Seconds since 1970'),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
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
    { response: responseSchema },
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
    'Input and output are stored, for as long as the operator says, unless store is false. previous_response_id, ' +
    'item_reference and conversation bring back what is stored; it counts as input. With background: true the answer is ' +
    'the response as it is queued; get it later. With stream: true the answer is server-sent events.',
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
      schema: responseSchema,
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
  errors: [...KEYED_INFERENCE_ERRORS, 'previous_response_not_found'],
  dialect: OPENAI_ERRORS,
  handle: inference({ rate: 'chat', read: readResponses, answer: answerResponses }),
};

export function isResponsesCall(call: ChatCall | ResponsesCall): call is ResponsesCall {
  return 'responses' in call;
}

export function readResponses(
  base: CallBase,
  value: Record<string, unknown>,
  parts: Pick<ApiParts, 'relay'>,
): ResponsesCall {
  const { body, knobs } = selectFields(value, RESPONSES_FIELDS);
  const asked = parseBody(responsesRequestSchema, body);
  return {
    ...base,
    responses: asked,
    body: value,
    selector: routeSelector(parts, base, asked.model, 'chat_completion'),
    knobs: joinKnobs(knobs, { leftOut: providerTools(asked) }),
  };
}

export async function answerResponses(
  call: ResponsesCall,
  parts: ApiParts,
  { memory }: Pick<IncomingRequest, 'memory'>,
): Promise<Response> {
  const { relay, background } = parts;
  if (call.responses.background === true && parts.responses.isOn)
    return await preferTokenError({ caller: call.caller, rate: 'chat' }, relay, () =>
      background.start(call, { memory }),
    );
  const answer = new ResponseAnswer(call, parts);
  try {
    const made = preferTokenError({ caller: call.caller, rate: 'chat' }, relay, () => answer.chat(memory));
    const reply = await relayChat(made instanceof Promise ? await made : made, relay);
    if (reply.kind === 'stream') return streamResponse(reply);
    return paidAnswer(answer.shown(reply.shown.completion), reply.summary, reply.charged);
  } catch (thrown) {
    await answer.release();
    throw thrown;
  }
}
