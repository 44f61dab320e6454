import type { Fields, Refusal } from '../providers/stand-in.ts';
import type { ChatWire } from './backend.ts';
import type { OpenLine } from './invoice.ts';
import type { Plan } from './plan.ts';
import { PICTURE_BASE64, soundOf, TOOL_NAME, type Step } from './steps.ts';

/** Chat completions, as the public reference of OpenAI shows them. */
export const OPENAI: ChatWire = {
  beginsWithEvent: true,
  cap: (body) => Number(body['max_completion_tokens'] ?? body['max_tokens'] ?? Number.POSITIVE_INFINITY),
  begin: (plan, line) =>
    Array.from({ length: plan.ask.choices ?? 1 }, (_, choice) =>
      chunk(
        plan,
        { choice, delta: { role: 'assistant', content: '' }, finish: null },
        earlyUsage(plan, line),
      ),
    ).join(''),
  step(plan, step) {
    // Searches are the provider's own: their report is in the usage.
    if (step.role === 'hidden' || step.role === 'search') return '';
    return chunk(plan, { choice: step.choice, delta: deltaOf(plan, step), finish: null, text: step.text });
  },
  finish: (plan, _, reason) =>
    Array.from({ length: plan.ask.choices ?? 1 }, (_none, choice) =>
      chunk(plan, { choice, delta: {}, finish: finishReason(plan, reason) }),
    ).join(''),
  usage(plan, line) {
    const usage = plan.answer.usage === 'early' ? undefined : usageOf(plan, line);
    return usage ? event({ ...identity(plan), object: 'chat.completion.chunk', choices: [], usage }) : '';
  },
  done: 'data: [DONE]\n\n',
  whole(plan, line, { steps, reason }) {
    const choices = Array.from({ length: plan.ask.choices ?? 1 }, (_, index) => ({
      index,
      message: message(
        plan,
        steps.filter(({ choice }) => choice === index),
      ),
      finish_reason: finishReason(plan, reason),
      logprobs: null,
    }));
    return { ...identity(plan), object: 'chat.completion', choices, usage: usageOf(plan, line) };
  },
};

function identity({ id, answer, model }: Plan) {
  const tier = answer.serviceTier === undefined ? {} : { service_tier: answer.serviceTier };
  return { id: `chatcmpl-${id}`, created: 1_700_000_000, model, ...tier };
}

function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

interface ChunkParts {
  readonly choice: number;
  readonly delta: unknown;
  readonly finish: string | null;
  readonly text?: string;
}

function chunk(plan: Plan, { choice, delta, finish, text }: ChunkParts, usage?: Fields): string {
  const logprobs = plan.answer.logprobs && text !== undefined ? { logprobs: logprobsOf(text) } : {};
  const choices = [{ index: choice, delta, finish_reason: finish, ...logprobs }];
  return event({ ...identity(plan), object: 'chat.completion.chunk', choices, ...(usage && { usage }) });
}

/** The twenty likeliest tokens beside each one: the most that the reference allows. */
function logprobsOf(token: string) {
  const one = { token, logprob: -0.123456789, bytes: [...Buffer.from(token)] };
  return { content: [{ ...one, top_logprobs: Array.from({ length: 20 }, () => one) }], refusal: null };
}

function deltaOf({ answer }: Plan, step: Step): Fields {
  if (step.role === 'reasoning') return reasoningOf(answer.reasoning?.name ?? '', step.text);
  if (step.role === 'sound') return { audio: { id: 'audio_1', data: soundOf([step]) } };
  if (step.role === 'picture') return { content: '', images: [PICTURE] };
  if (step.role === 'tool name') {
    const called = { name: TOOL_NAME, arguments: '' };
    return { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: called }] };
  }
  switch (answer.kind) {
    case 'text':
      return { content: step.text };
    case 'refusal':
      return { refusal: step.text };
    case 'tool call':
      return { tool_calls: [{ index: 0, function: { arguments: step.text } }] };
    case 'transcript':
      return { audio: { id: 'audio_1', transcript: step.text } };
  }
}

/** As https://openrouter.ai/docs/features/multimodal/image-generation shows it. */
const PICTURE = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE_BASE64}` } };

/** Names that servers in use give to reasoning that can be read. */
export const REASONING_NAMES = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'thinking',
  'reasoning_details',
] as const;

function reasoningOf(name: string, text: string): Fields {
  return name === 'reasoning_details' ? { [name]: [{ type: 'reasoning.text', text }] } : { [name]: text };
}

function message({ answer }: Plan, steps: readonly Step[]): Fields {
  const join = (role: Step['role']): string =>
    steps
      .filter((step) => step.role === role)
      .map(({ text }) => text)
      .join('');
  const text = join('answer');
  const sound = soundOf(steps.filter(({ role }) => role === 'sound'));
  const pictures = steps.flatMap(({ role }) => (role === 'picture' ? [PICTURE] : []));
  const reasoning = answer.reasoning ? reasoningOf(answer.reasoning.name, join('reasoning')) : {};
  const calls = [{ id: 'call_1', type: 'function', function: { name: TOOL_NAME, arguments: text } }];
  return {
    role: 'assistant',
    content: answer.kind === 'text' ? text : null,
    refusal: answer.kind === 'refusal' ? text : null,
    ...(answer.kind === 'tool call' && { tool_calls: calls }),
    ...(answer.kind === 'transcript' && {
      audio: { id: 'audio_1', transcript: text, data: sound, expires_at: 0 },
    }),
    ...(pictures.length > 0 && { images: pictures }),
    ...reasoning,
  };
}

function finishReason({ answer }: Plan, reason: 'stop' | 'length'): string {
  return answer.kind === 'tool call' && reason === 'stop' ? 'tool_calls' : reason;
}

function earlyUsage(plan: Plan, line: OpenLine): Fields | undefined {
  if (plan.answer.usage !== 'early') return undefined;
  return { prompt_tokens: line.input, completion_tokens: 1, total_tokens: line.input + 1 };
}

/** The usage as the backend reports it: the truth, unless it lies. */
function usageOf({ answer }: Plan, line: OpenLine): Fields | undefined {
  const { input } = line;
  switch (answer.usage) {
    case 'none':
      return undefined;
    case 'zero':
      return { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    case 'absurd':
      return { prompt_tokens: input, completion_tokens: -3, total_tokens: 1e300 };
    case 'early':
    case 'true':
      return trueUsage(line);
  }
}

function trueUsage(line: OpenLine): Fields {
  const { input, output } = line;
  const { prompt_tokens_details, completion_tokens_details, ...beside } = line.reportedParts();
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: line.of('cached_input'), ...prompt_tokens_details },
    completion_tokens_details: { reasoning_tokens: line.of('reasoning'), ...completion_tokens_details },
    ...beside,
  };
}

const EMBEDDING_FIELDS = new Set(['model', 'input', 'dimensions', 'encoding_format', 'user']);

/** "Unknown parameter", as for every other operation of this API. */
export function embeddingsRefusal(body: Fields): Refusal | undefined {
  const field = Object.keys(body).find((name) => !EMBEDDING_FIELDS.has(name));
  if (field === undefined) return undefined;
  return { status: 400, code: 'unknown_parameter', param: field, message: `Unknown parameter: '${field}'.` };
}

export function vectors(body: Fields, plan: Plan, line: OpenLine): Fields {
  const { input } = body;
  const isList = Array.isArray(input) && (Array.isArray(input[0]) || typeof input[0] === 'string');
  const data = (isList ? (input as unknown[]) : [input]).map((_, index) => ({
    object: 'embedding',
    index,
    embedding: [0.25, -0.5, 0.125],
  }));
  const usage = { prompt_tokens: line.input, total_tokens: line.input };
  return { object: 'list', model: plan.model, data, ...(plan.answer.usage === 'none' ? {} : { usage }) };
}
