import { z } from 'zod';

const number = (min: number, max: number) => z.number().min(min).max(max);
const integer = (min: number, max: number) => z.number().int().min(min).max(max);

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() });
const imagePart = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.looseObject({ url: z.string().min(1), detail: z.string().nullish() }),
});
const audioPart = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({ data: z.string(), format: z.string() }),
});
const filePart = z.looseObject({ type: z.literal('file'), file: z.looseObject({}) });
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

export const contentPartSchema = z.discriminatedUnion('type', [
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

export const messageSchema = z
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
  });

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

export const toolSchema = z.looseObject({
  type: toolType,
  function: z
    .looseObject({
      name: z.string().min(1).max(128),
      description: z.string().nullish(),
      parameters: z.looseObject({}).nullish(),
    })
    .optional(),
});

/** The largest integer that may be multiplied by a price; the model's own limit is checked once the model is known. */
const MAX_TOKENS = 10_000_000;

/** The canonical chat request: OpenAI's, without the selector fields of the public API. */
const chatRequestFields = z.looseObject({
  model: z.string().min(1).max(256),
  messages: z.array(messageSchema).min(1).max(10_000),
  temperature: number(0, 2).nullish(),
  top_p: number(0, 1).nullish(),
  frequency_penalty: number(-2, 2).nullish(),
  presence_penalty: number(-2, 2).nullish(),
  n: integer(1, 8).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  max_tokens: integer(1, MAX_TOKENS).nullish(),
  max_completion_tokens: integer(1, MAX_TOKENS).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(toolSchema).max(512).nullish(),
  seed: z.number().int().nullish(),
  user: z.string().max(512).nullish(),
});

/** Compiled: every chat is validated by it, and an ordinary one takes a quarter of the time. */
export const chatRequestSchema = z.compile(chatRequestFields);

type Parsed = z.infer<typeof chatRequestSchema>;

/** After parsing, a field that was null is absent. */
export type ChatRequest = { [K in keyof Parsed]: Exclude<Parsed[K], null> };
export type ChatMessage = z.infer<typeof messageSchema>;
export type ContentPart = z.infer<typeof contentPartSchema>;
export type ChatTool = z.infer<typeof toolSchema>;

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

export interface ChatChoice {
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
