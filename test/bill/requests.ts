import { FIRST_PLAN_TOKEN } from './input.ts';
import { nameOf, type Attachment, type Plan } from './plan.ts';
import { endpointOf } from './models.ts';
import { TOOL_NAME } from './steps.ts';

export interface OutgoingRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The request of a plan in its client's dialect. */
export function requestOf(plan: Plan): OutgoingRequest {
  const { body, path } = DIALECTS[plan.dialect](plan);
  return { path, body: withoutUndefined({ ...body, ...plan.ask.more, ...plan.ask.unknown }) };
}

const DIALECTS: Readonly<Record<Plan['dialect'], (plan: Plan) => OutgoingRequest>> = {
  public: (plan) => ({
    path: '/api/public/v1/chat/completions',
    body: { ...chatBody(plan), endpoint: endpointOf(plan.model), model: plan.model },
  }),
  v1: (plan) => ({ path: '/v1/chat/completions', body: { ...chatBody(plan), model: fullName(plan) } }),
  messages: (plan) => ({ path: '/v1/messages', body: messagesBody(plan) }),
  responses: (plan) => ({ path: '/v1/responses', body: responsesBody(plan) }),
  // https://ai.google.dev/api/generate-content
  gemini: (plan) => ({
    path: `/v1beta/models/${fullName(plan)}:${plan.streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: geminiBody(plan),
  }),
  embeddings: (plan) => ({ path: '/v1/embeddings', body: { model: fullName(plan), input: embedded(plan) } }),
  'public images': (plan) => ({
    path: '/api/public/v1/images/generations',
    body: { ...imageBody(plan), endpoint_code: endpointOf(plan.model), model: plan.model },
  }),
  'v1 images': (plan) => ({
    path: '/v1/images/generations',
    body: { ...imageBody(plan), model: fullName(plan) },
  }),
};

function fullName({ model }: Plan): string {
  return `${endpointOf(model)}/${model}`;
}

function promptOf(plan: Plan): string {
  return `${nameOf(plan)} ${plan.ask.prompt}`;
}

function chatBody(plan: Plan): Record<string, unknown> {
  const { system, attachments = [], maxTokens, choices, withTools, cacheFor } = plan.ask;
  const text = promptOf(plan);
  const content =
    attachments.length === 0 && cacheFor === undefined
      ? text
      : [{ type: 'text', text, ...cacheMark(plan) }, ...attachments.map(chatAttachment)];
  return {
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content },
    ],
    stream: plan.streamed || undefined,
    stream_options: plan.streamed ? { include_usage: true } : undefined,
    max_tokens: maxTokens,
    n: choices,
    tools: withTools ? [{ type: 'function', function: LOOK_UP }] : undefined,
  };
}

const PARAMETERS = {
  type: 'object',
  properties: { query: { type: 'string', description: 'What to look for' } },
};
const DESCRIPTION = 'Looks something up in the books of the gate';
const LOOK_UP = { name: TOOL_NAME, description: DESCRIPTION, parameters: PARAMETERS };

function chatAttachment({ kind, data }: Attachment): Record<string, unknown> {
  if (kind === 'image') {
    const url = data.startsWith('http') ? data : `data:image/png;base64,${data}`;
    return { type: 'image_url', image_url: { url } };
  }
  if (kind === 'audio') return { type: 'input_audio', input_audio: { data, format: 'wav' } };
  return { type: 'file', file: { filename: 'report.pdf', file_data: `data:application/pdf;base64,${data}` } };
}

function cacheMark({ ask: { cacheFor } }: Plan): Record<string, unknown> {
  return cacheFor === undefined ? {} : { cache_control: { type: 'ephemeral', ttl: cacheFor } };
}

function messagesBody(plan: Plan): Record<string, unknown> {
  const { system, attachments = [], maxTokens = 4_096, withTools } = plan.ask;
  const text = { type: 'text', text: promptOf(plan), ...cacheMark(plan) };
  const content = [...attachments.map(messagesAttachment), text];
  return {
    model: fullName(plan),
    system,
    messages: [{ role: 'user', content }],
    stream: plan.streamed || undefined,
    max_tokens: maxTokens,
    tools: withTools ? [{ name: TOOL_NAME, description: DESCRIPTION, input_schema: PARAMETERS }] : undefined,
  };
}

function messagesAttachment({ kind, data }: Attachment): Record<string, unknown> {
  const media_type = kind === 'image' ? 'image/png' : 'application/pdf';
  const source = data.startsWith('http') ? { type: 'url', url: data } : { type: 'base64', media_type, data };
  return { type: kind === 'image' ? 'image' : 'document', source };
}

function responsesBody(plan: Plan): Record<string, unknown> {
  const { system, attachments = [], maxTokens, withTools } = plan.ask;
  const content = [
    { type: 'input_text', text: promptOf(plan) },
    ...attachments.map(({ kind, data }) =>
      kind === 'image'
        ? { type: 'input_image', image_url: data.startsWith('http') ? data : `data:image/png;base64,${data}` }
        : { type: 'input_file', filename: 'report.pdf', file_data: `data:application/pdf;base64,${data}` },
    ),
  ];
  return {
    model: fullName(plan),
    instructions: system,
    input: [{ type: 'message', role: 'user', content }],
    stream: plan.streamed || undefined,
    max_output_tokens: maxTokens,
    tools: withTools ? [{ type: 'function', ...LOOK_UP }] : undefined,
  };
}

function geminiBody(plan: Plan): Record<string, unknown> {
  const { system, attachments = [], maxTokens, choices, withTools } = plan.ask;
  return {
    systemInstruction: system === undefined ? undefined : { parts: [{ text: system }] },
    contents: [{ role: 'user', parts: [{ text: promptOf(plan) }, ...attachments.map(geminiAttachment)] }],
    generationConfig: withoutUndefined({ maxOutputTokens: maxTokens, candidateCount: choices }),
    tools: withTools ? [{ functionDeclarations: [LOOK_UP] }] : undefined,
  };
}

function geminiAttachment({ kind, data }: Attachment): Record<string, unknown> {
  const mimeType = kind === 'image' ? 'image/png' : 'application/pdf';
  return data.startsWith('http')
    ? { fileData: { mimeType, fileUri: data } }
    : { inlineData: { mimeType, data } };
}

function embedded(plan: Plan): unknown {
  const { tokenInput } = plan.ask;
  if (tokenInput === undefined) return [promptOf(plan), plan.ask.prompt];
  return [FIRST_PLAN_TOKEN + plan.id, ...Array.from({ length: tokenInput }, (_, index) => index)];
}

function imageBody(plan: Plan): Record<string, unknown> {
  const { images } = plan.ask;
  const { count, size, quality } = images ?? { count: 1, size: '1024x1024', quality: undefined };
  return { prompt: promptOf(plan), n: count, size, quality, response_format: 'b64_json' };
}

function withoutUndefined(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
