import { z } from 'zod';
import { Fault } from '../../std/fault.ts';
import { CAP_SYNONYMS, CHOICES_SYNONYMS, NESTED_REQUESTS } from '../../std/held-fields.ts';
import {
  fieldRules,
  pricedUnless,
  refusedBecause,
  refusedUnless,
  type CostOf,
  type FieldRules,
} from '../field-table.ts';
import { asksToReason } from '../reasoning-effort.ts';

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() }).meta({ id: 'ChatTextPart' });
const imagePart = z
  .looseObject({
    type: z.literal('image_url'),
    image_url: z.looseObject({ url: z.string().min(1), detail: z.string().nullish() }),
  })
  .meta({ id: 'ChatImagePart' });
const audioPart = z
  .looseObject({
    type: z.literal('input_audio'),
    input_audio: z.looseObject({ data: z.string(), format: z.string() }),
  })
  .meta({ id: 'ChatAudioPart' });
const filePart = z
  .looseObject({ type: z.literal('file'), file: z.looseObject({}) })
  .meta({ id: 'ChatFilePart' });
const refusalPart = z
  .looseObject({ type: z.literal('refusal'), refusal: z.string() })
  .meta({ id: 'ChatRefusalPart' });

const contentPartSchema = z.discriminatedUnion('type', [
  textPart,
  imagePart,
  audioPart,
  filePart,
  refusalPart,
]);

const toolCallSchema = z.looseObject({
  id: z.string(),
  type: z.literal('function').or(z.string()),
  function: z.looseObject({ name: z.string(), arguments: z.string() }).optional(),
});

const messageSchema = z
  .looseObject({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: z.union([z.string(), z.array(contentPartSchema)]).nullish(),
    name: z.string().nullish(),
    tool_calls: z.array(toolCallSchema).nullish(),
    tool_call_id: z.string().nullish(),
    function_call: z.looseObject({ name: z.string(), arguments: z.string() }).nullish(),
    refusal: z.string().nullish(),
    audio: z.looseObject({ id: z.string() }).nullish(),
  })
  .refine(saysSomething, {
    error:
      'content is required (an assistant message may have tool_calls, refusal, audio or function_call instead)',
    path: ['content'],
  })
  .meta({ id: 'ChatMessage' });

interface HistoryMessage {
  readonly role: string;
  readonly content?: string | readonly unknown[] | null | undefined;
  readonly tool_calls?: unknown;
  readonly function_call?: unknown;
  readonly refusal?: unknown;
  readonly audio?: unknown;
}

/** What OpenAI accepts in a history: a tool may have returned nothing, and an assistant may have said no text. */
function saysSomething(message: HistoryMessage): boolean {
  const { role, content } = message;
  if (typeof content === 'string' || (content?.length ?? 0) > 0) return true;
  if (role === 'tool') return content != null;
  if (role === 'function') return content === null;
  if (role !== 'assistant') return false;
  const { tool_calls, function_call, refusal, audio } = message;
  return (tool_calls ?? function_call ?? refusal ?? audio) != null;
}

const CLIENT_TOOLS = ['function', 'custom'];

/** Both are run by the client. A tool that the backend runs costs extra, and has no price here. */
const toolType = z
  .string()
  .refine((type) => CLIENT_TOOLS.includes(type), {
    error: 'only tools of type function and custom are supported',
  })
  .meta({ enum: CLIENT_TOOLS });

const toolSchema = z
  .looseObject({
    type: toolType,
    function: z
      .looseObject({
        name: z.string().min(1).max(128),
        description: z.string().nullish(),
        parameters: z.looseObject({}).nullish(),
      })
      .optional(),
  })
  .meta({ id: 'ChatTool' });

/** The largest integer that may be multiplied by a price; the model's own limit is checked once the model is known. */
const MAX_TOKENS = 10_000_000;

interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly isWhole?: true;
}

const NUMBERS = {
  temperature: { min: 0, max: 2 },
  top_p: { min: 0, max: 1 },
  frequency_penalty: { min: -2, max: 2 },
  presence_penalty: { min: -2, max: 2 },
  n: { min: 1, max: 8, isWhole: true },
  max_tokens: { min: 1, max: MAX_TOKENS, isWhole: true },
  max_completion_tokens: { min: 1, max: MAX_TOKENS, isWhole: true },
} as const satisfies Record<string, NumberBounds>;

const number = ({ min, max }: NumberBounds) => z.number().min(min).max(max).nullish();
const integer = ({ min, max }: NumberBounds) => z.number().int().min(min).max(max).nullish();

const MODEL_CHARACTERS = 256;
const MOST_MESSAGES = 10_000;

/**
 * "Set of 16 key-value pairs that can be attached to an object … Keys are strings with a maximum length of 64 characters. Values are
 * strings with a maximum length of 512 characters" (https://platform.openai.com/docs/api-reference/chat/create, `metadata`).
 */
export const metadataSchema = z
  .record(z.string().max(64), z.string().max(512))
  .refine((metadata) => Object.keys(metadata).length <= 16, 'must have at most 16 keys');

/** The canonical chat request: OpenAI's, without the selector fields of the public API. */
const chatRequestFields = z.looseObject({
  model: z.string().min(1).max(MODEL_CHARACTERS),
  messages: z.array(messageSchema).min(1).max(MOST_MESSAGES),
  temperature: number(NUMBERS.temperature),
  top_p: number(NUMBERS.top_p),
  frequency_penalty: number(NUMBERS.frequency_penalty),
  presence_penalty: number(NUMBERS.presence_penalty),
  n: integer(NUMBERS.n),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  max_tokens: integer(NUMBERS.max_tokens),
  max_completion_tokens: integer(NUMBERS.max_completion_tokens),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(toolSchema).max(512).nullish(),
  seed: z.number().int().nullish(),
  user: z.string().max(512).nullish(),
  metadata: metadataSchema.nullish(),
});

/** Compiled: every chat is validated by it, and an ordinary one takes a quarter of the time. */
export const chatRequestSchema = z.compile(chatRequestFields);

type Parsed = z.infer<typeof chatRequestSchema>;

/** After parsing, a field that was null is absent. */
export type ChatRequest = { [K in keyof Parsed]: Exclude<Parsed[K], null> };
export type ChatMessage = z.infer<typeof messageSchema>;
export type ContentPart = z.infer<typeof contentPartSchema>;
export type ChatTool = z.infer<typeof toolSchema>;

/**
 * What the schema makes of a chat of plain text and numbers within their bounds, as most are, without the objects that a
 * schema makes on its way. `undefined` says nothing: the schema decides then.
 */
export function ordinaryChat(body: Readonly<Record<string, unknown>>): ChatRequest | undefined {
  for (const field in body) {
    const value = body[field];
    if (value !== undefined && !isOrdinaryField(field, value)) return undefined;
  }
  if (body['model'] === undefined || body['messages'] === undefined) return undefined;
  const chat: Record<string, unknown> = {};
  for (const field of ORDINARY_FIELDS) if (body[field] !== undefined) chat[field] = body[field];
  return chat as ChatRequest;
}

function isOrdinaryField(field: string, value: unknown): boolean {
  switch (field) {
    case 'model':
      return typeof value === 'string' && value !== '' && value.length <= MODEL_CHARACTERS;
    case 'messages':
      return Array.isArray(value) && value.length > 0 && value.length <= MOST_MESSAGES && areTexts(value);
    case 'stream':
      return typeof value === 'boolean';
    default:
      return Object.hasOwn(NUMBERS, field) && isWithin(value, NUMBERS[field as keyof typeof NUMBERS]);
  }
}

function areTexts(messages: readonly unknown[]): boolean {
  for (const message of messages) {
    if (typeof message !== 'object' || message === null || Array.isArray(message)) return false;
    let hasRole = false;
    let hasContent = false;
    for (const field in message) {
      const value = (message as Record<string, unknown>)[field];
      if (field === 'role') hasRole = TALKING_ROLES.has(value);
      // The schema would put them in this order.
      else if (field === 'content' && hasRole) hasContent = typeof value === 'string';
      else return false;
    }
    if (!hasRole || !hasContent) return false;
  }
  return true;
}

/** In the order of the schema. */
const ORDINARY_FIELDS = Object.keys(chatRequestFields.shape).filter(
  (field) => field === 'model' || field === 'messages' || field === 'stream' || field in NUMBERS,
);

const TALKING_ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant']);

function isWithin(value: unknown, { min, max, isWhole }: NumberBounds): boolean {
  if (typeof value !== 'number' || !(value >= min && value <= max)) return false;
  return isWhole !== true || Number.isInteger(value);
}

/** A whole answer; extra fields of a backend pass through. */
export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: readonly ChatChoice[];
  usage?: ChatUsage | undefined;
  /** The one that answered. */
  service_tier?: unknown;
}

interface ChatChoice {
  index: number;
  message: AssistantMessage;
  finish_reason: FinishReason | null;
  logprobs?: unknown;
}

export interface AssistantMessage {
  role: 'assistant';
  content: string | null;
  reasoning_content?: string | undefined;
  tool_calls?: readonly ToolCall[] | undefined;
  refusal?: string | null | undefined;
}

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** One event of a stream. */
export interface ChatChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: readonly { index: number; delta: ChatDelta; finish_reason: FinishReason | null }[];
  usage?: ChatUsage | null | undefined;
  service_tier?: unknown;
}

export interface ChatDelta {
  role?: 'assistant';
  content?: string | null;
  reasoning_content?: string | null;
  tool_calls?: readonly {
    index: number;
    id?: string;
    type?: 'function';
    function?: { name?: string; arguments?: string };
  }[];
  refusal?: string | null;
}

export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?:
    | {
        cached_tokens?: number;
        cache_write_tokens?: number;
        cache_write_1h_tokens?: number;
        audio_tokens?: number;
        image_tokens?: number;
      }
    | undefined;
  completion_tokens_details?:
    | { reasoning_tokens?: number; audio_tokens?: number; image_tokens?: number }
    | undefined;
  server_tool_use?: { web_search_requests?: number } | undefined;
  service_tier?: string | undefined;
}

const BY_CATALOG = 'the catalog decides which model and backend serve a request.';
const SEARCHES = 'a search by the backend has no price here. Offer a function that searches instead.';

/** Chat completions of OpenAI (https://platform.openai.com/docs/api-reference/chat/create) and of servers like it. */
export const CHAT_FIELDS: FieldRules = fieldRules({
  harmless: [
    // What is asked, and how the answer arrives. Tools are checked one by one in the request's schema.
    'model messages stream stream_options user metadata store',
    'tools tool_choice parallel_tool_calls functions function_call',
    // Both caps and n: the hold is computed from them.
    'max_tokens max_completion_tokens n',
    // Sampling, OpenAI's.
    'temperature top_p frequency_penalty presence_penalty seed stop',
    'logit_bias logprobs top_logprobs',
    // Sampling of vLLM, SGLang, llama.cpp, Ollama and OpenRouter.
    'top_k top_a min_p typical_p tfs_z repetition_penalty repeat_penalty repeat_last_n',
    'mirostat mirostat_tau mirostat_eta dynatemp_range dynatemp_exponent length_penalty',
    'dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers',
    'xtc_probability xtc_threshold samplers bad_words stop_token_ids',
    'include_stop_str_in_output skip_special_tokens spaces_between_special_tokens',
    // The format of the answer; from guided_json on those of vLLM, SGLang and llama.cpp.
    'response_format verbosity guided_json guided_regex guided_choice guided_grammar',
    'structured_outputs grammar',
    // Thinking in the words of single servers: within the output cap, and charged as output.
    'reasoning_format reasoning_split thinking enable_thinking thinking_budget chat_template_kwargs',
    'add_generation_prompt continue_final_message',
    // Caches and abuse: identifiers.
    'prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier',
    'cache_prompt cache_salt',
  ],
  // OpenRouter's: what the answer shows, which conversation it belongs to, and how a long one would be shortened.
  handledHere: ['usage include_reasoning session_id transforms'],
  // Within the output cap, and charged as output.
  reasoning: {
    reasoning_effort: () => ['reasoning_effort'],
    reasoning: (value) => (asksToReason(value) ? ['reasoning'] : []),
  },
  costly: {
    service_tier: pricedUnless(['auto', 'default', 'standard'], (tier) => `service_tiers.${tier}`),
    modalities: costOfModalities,
    audio: () => ({ price: 'audio_output' }),
    web_search_options: () => ({ price: 'tool_calls.web_search' }),
    // Tokens of a prediction that the model does not use are billed as output, beyond the cap.
    prediction: refusedBecause('predicted outputs are billed beyond the output cap and have no price here.'),
    // Other names of searches: OpenRouter, xAI, Perplexity, Alibaba, Z.ai.
    plugins: refusedBecause(SEARCHES),
    search_parameters: refusedBecause(SEARCHES),
    enable_search: refusedUnless([false], SEARCHES),
    search_options: refusedBecause(SEARCHES),
    web_search: refusedUnless([false], SEARCHES),
    // OpenRouter, LiteLLM: other models and providers than the ones that are priced.
    models: refusedBecause(BY_CATALOG),
    fallbacks: refusedBecause(BY_CATALOG),
    route: refusedBecause(BY_CATALOG),
    provider: refusedBecause(BY_CATALOG),
    preset: refusedBecause(BY_CATALOG),
  },
  synonyms: {
    ...Object.fromEntries(CAP_SYNONYMS.map((field) => [field, 'max_tokens'])),
    ...Object.fromEntries(CHOICES_SYNONYMS.map((field) => [field, 'n'])),
    ...Object.fromEntries(NESTED_REQUESTS.map((field) => [field, 'the fields of the request itself'])),
  },
});

function costOfModalities(value: unknown): ReturnType<CostOf> {
  if (!Array.isArray(value)) return { refusal: 'it must be a list.' };
  const costly = value.filter((kind) => kind !== 'text');
  if (costly.length === 0) return undefined;
  return costly.every((kind) => kind === 'audio')
    ? { price: 'audio_output' }
    : { refusal: 'only text and audio have a price here.' };
}

/** Which backends a client wants, in the words of OpenRouter (https://openrouter.ai/docs/features/provider-routing). */
export interface ProviderChoice {
  /** These first, in this order. */
  readonly order: readonly string[] | undefined;
  /** No others. */
  readonly only: readonly string[] | undefined;
  /** False: only the first backend, or those of `order`, may be called. */
  readonly allowFallbacks: boolean;
}

const MOST_NAMES = 64;
const names = z.array(z.string().max(200)).min(1).max(MOST_NAMES).nullish();
const choice = z.strictObject({ order: names, only: names, allow_fallbacks: z.boolean().nullish() });

/** Other fields (price, privacy, quantization) promise what nothing here would enforce, so they are refused. */
export function providerChoiceOf(value: unknown): ProviderChoice {
  const parsed = choice.safeParse(value);
  if (!parsed.success) throw invalid(parsed.error.issues[0]);
  const { order, only, allow_fallbacks: allowFallbacks } = parsed.data;
  return { order: order ?? undefined, only: only ?? undefined, allowFallbacks: allowFallbacks ?? true };
}

function invalid(issue: z.core.$ZodIssue | undefined): Fault {
  if (issue?.code === 'unrecognized_keys') {
    const param = `provider.${issue.keys[0] ?? ''}`.slice(0, MOST_CHARACTERS);
    return new Fault('invalid_field', `${param} is not supported; order, only and allow_fallbacks are.`, {
      param,
    });
  }
  const param = ['provider', ...(issue?.path ?? [])].join('.');
  return new Fault('invalid_field', `${param}: ${issue?.message ?? 'is not valid'}`, { param });
}

const MOST_CHARACTERS = 100;
