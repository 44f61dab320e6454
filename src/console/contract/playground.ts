import type { Usd } from './shared.ts';

/**
 * POST /api/console/playground/chat: the public API's chat body. The answer is always `text/event-stream`:
 *
 *   data: {chat.completion.chunk}        as in the public API, any number of them, the last one with `usage`
 *   data: {"error": …}                   when it failed after it began (ErrorBody)
 *   data: [DONE]
 *   event: tollgate
 *   data: {PlaygroundReceipt}            always the last event, unless you stop reading
 *
 * A refusal before the first byte is a plain JSON ErrorBody with its status. To stop, abort the fetch; what was
 * delivered is charged, and GET /api/console/requests/{x-request-id} tells how much.
 */
export interface PlaygroundChatBody {
  endpoint: string;
  model: string;
  messages: PlaygroundMessage[];
  temperature?: number;
  top_p?: number;
  max_tokens?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
  stop?: string | string[];
  seed?: number;
  /** Whatever else the public API takes. */
  [more: string]: unknown;
}

export interface PlaygroundMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Null: an answer that only calls tools. */
  content: string | PlaygroundPart[] | null;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  /** Of the result of a tool: which call it answers. */
  tool_call_id?: string;
}

export type PlaygroundPart =
  | { type: 'text'; text: string }
  /** A `data:` URL of the picture. */
  | { type: 'image_url'; image_url: { url: string; detail?: string } }
  | { type: 'file'; file: { filename: string; file_data: string } };

export interface PlaygroundChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: {
    index: number;
    delta: {
      role?: 'assistant';
      content?: string | null;
      reasoning_content?: string | null;
      refusal?: string | null;
      /** Each piece belongs to the call of that number; its arguments follow each other. */
      tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[] | null;
    };
    finish_reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | null;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null;
}

/** What the answer cost and how long it took. */
export interface PlaygroundReceipt {
  requestId: string;
  /** `pending`: the store is unavailable and the charge will follow; look at the request again in a moment. */
  state: 'pending' | 'posted' | 'void' | 'expired';
  outcome: string | null;
  costUsd: Usd;
  heldUsd: Usd;
  /** What the account can spend now; null: not known yet. */
  availableUsd: Usd | null;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  images: number;
  firstByteMs: number | null;
  durationMs: number | null;
}

/** The most that a request could cost, before it is sent. */
export interface PlaygroundQuote {
  maxCostUsd: Usd;
  /** The output cap of a chat; null for images. */
  maxTokens: number | null;
}

export interface PlaygroundImages {
  created: number;
  /** Links on this origin; the pictures are in the gallery too. */
  data: { url?: string; b64_json?: string; revised_prompt?: string }[];
  receipt: PlaygroundReceipt;
}
