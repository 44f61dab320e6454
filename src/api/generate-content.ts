import { z } from 'zod';
import type { IncomingRequest } from '../http/router.ts';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer } from '../http/response.ts';
import type { ChatCall, CallBase } from '../relay/call.ts';
import { relayChat } from '../relay/chat.ts';
import { joinKnobs } from '../wire/field-table.ts';
import { chatToGemini, type GeminiContext } from '../wire/gemini/answer.ts';
import { GEMINI_FIELDS, generateContentSchema, inReferenceSpelling } from '../wire/gemini/request.ts';
import { geminiEncoder } from '../wire/gemini/stream.ts';
import { geminiToChat } from '../wire/gemini/to-chat.ts';
import { GOOGLE_ERRORS, KEYED_INFERENCE_ERRORS } from './errors.ts';
import { inference, MAX_COST_FIELD, streamResponse, routeSelector } from './inference.ts';
import type { ApiAnswer, ApiBody, ApiOperation, ApiParts, PathParameter } from './operation.ts';

const answerPart = z.union([
  z.object({
    text: z.string(),
    thought: z.literal(true).optional(),
    thoughtSignature: z.string().optional(),
  }),
  z.object({ functionCall: z.object({ id: z.string(), name: z.string(), args: z.looseObject({}) }) }),
]);

const generateContentAnswer = z.object({
  candidates: z.array(
    z.object({
      content: z.object({ role: z.literal('model'), parts: z.array(answerPart) }),
      finishReason: z.enum(['STOP', 'MAX_TOKENS', 'SAFETY']).optional(),
      index: z.int(),
    }),
  ),
  usageMetadata: z
    .object({
      promptTokenCount: z.int(),
      candidatesTokenCount: z.int().describe('Without thoughts'),
      totalTokenCount: z.int(),
      thoughtsTokenCount: z.int().optional(),
      cachedContentTokenCount: z.int().optional(),
    })
    .optional()
    .describe('Of a stream in its last piece'),
  modelVersion: z.string(),
  responseId: z.string().describe('Also in x-request-id; GET /requests/{id} has the receipt.'),
});

export const GEMINI_MODEL: PathParameter = {
  name: 'model',
  description: 'As GET /v1beta/models lists it, without models/; its slashes stand as they are',
  example: 'svc_chat/house-guide',
  hasSlashes: true,
};

const REQUEST: ApiBody = {
  name: 'GenerateContentRequest',
  schema: generateContentSchema.extend(MAX_COST_FIELD),
  examples: {
    simple: { contents: [{ role: 'user', parts: [{ text: 'What is a hold?' }] }] },
    capped: {
      systemInstruction: { parts: [{ text: 'Answer in one sentence.' }] },
      contents: [{ role: 'user', parts: [{ text: 'What is a hold?' }] }],
      generationConfig: { maxOutputTokens: 200, temperature: 0.2 },
    },
  },
};

const BODY: ApiAnswer['body'] = {
  name: 'GenerateContentAnswer',
  schema: generateContentAnswer,
  examples: {
    answer: {
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'Money set aside for a request.' }] },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: { promptTokenCount: 14, candidatesTokenCount: 8, totalTokenCount: 22 },
      modelVersion: 'svc_chat/house-guide',
      responseId: 'req_0WPlqUf4abcdefghijklmnop',
    },
  },
};

const SHARED = {
  method: 'POST',
  tag: 'Gemini-compatible',
  token: 'required',
  parameters: [GEMINI_MODEL],
  idempotencyKey: true,
  request: REQUEST,
  errors: KEYED_INFERENCE_ERRORS,
  dialect: GOOGLE_ERRORS,
} as const;

/** Google's clients ask for the version that they were made for. */
type GeminiVersion = 'v1beta' | 'v1';

const generateContentAt = (version: GeminiVersion): ApiOperation => ({
  ...SHARED,
  id: `${version}GenerateContent`,
  path: `/${version}/models/{model}:generateContent`,
  summary: `Generate content (Gemini, ${version})`,
  description: 'The token may also come as x-goog-api-key or ?key=.',
  answer: { description: 'The answer', headers: 'paid', body: BODY },
  handle: inference({ rate: 'chat', read: (...given) => read(given, 'whole'), answer }),
});

const streamGenerateContentAt = (version: GeminiVersion): ApiOperation => ({
  ...SHARED,
  id: `${version}StreamGenerateContent`,
  path: `/${version}/models/{model}:streamGenerateContent`,
  summary: `Generate content as a stream (Gemini, ${version})`,
  description: 'With ?alt=sse as server-sent events, otherwise as one JSON array that grows.',
  answer: {
    description: 'The pieces of the answer',
    headers: 'paid',
    untyped: {
      mediaType: 'application/json',
      schema: { type: 'array', items: { $ref: '#/components/schemas/GenerateContentAnswer' } },
    },
    stream: {
      name: 'GenerateContentAnswer',
      chunk: generateContentAnswer,
      description: 'Each data line is a GenerateContentAnswer with a piece of the text, or a GoogleError.',
      hasErrorEvent: true,
      example:
        'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Money"}]},"index":0}],' +
        '"modelVersion":"svc_chat/house-guide","responseId":"req_0WPlqUf4abcdefghijklmnop"}\n\n',
    },
  },
  handle: inference({
    rate: 'chat',
    read: (...given) => read(given, isSse(given[3]) ? 'events' : 'array'),
    answer,
  }),
});

export const generateContent = generateContentAt('v1beta');
export const streamGenerateContent = streamGenerateContentAt('v1beta');
export const v1GenerateContent = generateContentAt('v1');
export const v1StreamGenerateContent = streamGenerateContentAt('v1');

type Delivered = 'whole' | 'events' | 'array';

interface GeminiCall extends ChatCall {
  readonly gemini: { readonly showsThoughts: boolean; readonly delivered: Delivered };
}

type Given = [base: CallBase, value: Record<string, unknown>, parts: ApiParts, incoming: IncomingRequest];

function read([base, value, { relay }, incoming]: Given, delivered: Delivered): GeminiCall {
  // Respelling the keys of an object gives an object.
  const spelled = inReferenceSpelling(value) as Record<string, unknown>;
  const { body, knobs } = selectFields(spelled, GEMINI_FIELDS);
  const asked = parseBody(generateContentSchema, body);
  const name = incoming.parameters[0] ?? '';
  const { request, leftOut } = geminiToChat(asked, { model: name, stream: delivered !== 'whole' });
  const showsThoughts = asked.generationConfig?.thinkingConfig?.includeThoughts === true;
  return {
    ...base,
    selector: routeSelector({ relay }, base, name, 'chat_completion'),
    label: name,
    request,
    knobs: joinKnobs(knobs, { leftOut }),
    cap: 'lowered',
    encoder: (labels) => geminiEncoder({ ...labels, showsThoughts }, delivered === 'events'),
    gemini: { showsThoughts, delivered },
  };
}

function isSse({ request }: IncomingRequest): boolean {
  return new URL(request.url).searchParams.get('alt') === 'sse';
}

async function answer(call: GeminiCall, { relay }: ApiParts): Promise<Response> {
  const reply = await relayChat(call, relay);
  const { showsThoughts, delivered } = call.gemini;
  if (reply.kind === 'stream') {
    const response = streamResponse(reply);
    if (delivered === 'array') response.headers.set('content-type', 'application/json; charset=utf-8');
    return response;
  }
  const context: GeminiContext = { id: call.requestId, model: call.label, showsThoughts };
  return paidAnswer(chatToGemini(reply.shown.completion, context), reply.summary, reply.charged);
}
