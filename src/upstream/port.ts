import type { RequestForm } from '../catalog/catalog.ts';
import type { StreamEvent } from '../wire/openai/answer.ts';
import type { ChatCompletion, ChatRequest, ChatUsage } from '../wire/openai/chat.ts';
import type { EmbeddingRequest } from '../wire/openai/embeddings.ts';
import type { ImageRequest } from '../wire/openai/images.ts';

/**
 * One attempt against one backend. Every backend speaks the canonical form, which is OpenAI's chat format: a whole
 * answer is one `chat.completion` object, a stream is a row of `chat.completion.chunk` with a usage chunk where the
 * backend has one; as bytes where the backend itself writes them so, else as objects. Retries, fallbacks, metering and money belong to the relay.
 *
 * Failure is a thrown `UpstreamFailure`. An aborted `signal` ends the attempt and frees its connection at once.
 */
export interface Upstream extends Partial<AnthropicNative> {
  readonly name: string;
  chat(call: UpstreamChatCall): Promise<ChatAnswer>;
  images(call: UpstreamImageCall): Promise<ImageAnswer>;
  /** Absent where a backend has no embeddings. The answer is passed on as it is, but for the model's name. */
  embed?(call: UpstreamEmbeddingCall): Promise<Uint8Array>;
  /** A cheap call that proves address and key; used by `doctor`, the admin page and the breaker's probe. */
  check(signal: AbortSignal): Promise<UpstreamHealth>;
}

export interface UpstreamChatCall {
  /** The backend's own name of the model. */
  readonly model: string;
  /** What the model's catalog entry says of how it is asked; absent: nothing. */
  readonly form?: RequestForm | undefined;
  /** Validated, nulls dropped, the output cap already lowered to what the hold covers. */
  readonly request: ChatRequest;
  readonly signal: AbortSignal;
  readonly requestId: string;
}

export type ChatAnswer = BytesAnswer | TypedAnswer;

export type BytesAnswer =
  | { readonly kind: 'whole'; readonly body: Uint8Array }
  /** Bytes as they come; the first event has not been looked at yet. Cancelling the stream aborts the backend. */
  | { readonly kind: 'stream'; readonly body: ReadableStream<Uint8Array> };

/** From backends that do not write the canonical form themselves: nothing is printed in order to be parsed again. */
export type TypedAnswer =
  | { readonly kind: 'completion'; readonly completion: ChatCompletion }
  /** Ends with `done`; cancelling it aborts the backend. */
  | { readonly kind: 'events'; readonly events: ReadableStream<StreamEvent> };

export interface UpstreamImageCall {
  readonly model: string;
  readonly form?: RequestForm | undefined;
  readonly request: ImageRequest;
  readonly size: string;
  readonly signal: AbortSignal;
  readonly requestId: string;
}

export interface UpstreamEmbeddingCall {
  readonly model: string;
  readonly request: EmbeddingRequest;
  readonly signal: AbortSignal;
  readonly requestId: string;
}

export interface ImageAnswer {
  readonly images: readonly GeneratedImage[];
  /** The backend's own usage object, shown to the client as it is. */
  readonly usage?: unknown;
}

export interface GeneratedImage {
  readonly bytes: Uint8Array;
  readonly mime: string;
  readonly revisedPrompt?: string | undefined;
}

export interface UpstreamHealth {
  readonly ok: boolean;
  readonly detail: string;
  readonly latencyMs: number;
}

/**
 * Backends that speak Anthropic's Messages API themselves also take such a request as it is: no conversion there or
 * back, so that thinking signatures, cache marks and whatever is new reach the backend and the client untouched.
 */
export interface AnthropicNative {
  messages(call: MessagesCall): Promise<NativeAnswer>;
  /** `POST /messages/count_tokens`: one JSON object, free of charge at the backend. */
  countTokens(call: MessagesCall): Promise<Uint8Array>;
}

export interface MessagesCall {
  /** The backend's own name of the model; replaces the one in the body. */
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the hold covers: a higher `max_tokens`, or a missing one, becomes this. */
  readonly maxTokens: number;
  /** The client's `anthropic-version` and `anthropic-beta`, passed on. */
  readonly version?: string | undefined;
  readonly beta?: string | undefined;
  readonly signal: AbortSignal;
  readonly requestId: string;
}

/** Bytes of the Messages dialect, and what has been read in those that went by so far. */
export type NativeAnswer = BytesAnswer & { reading(): MessagesReading };

export interface MessagesReading {
  /** Canonical usage as far as the backend has told it; undefined when it cannot be true. */
  readonly usage: ChatUsage | undefined;
  /** Nothing was written after the usage was told. */
  readonly isUsageFinal: boolean;
  /** Text, thinking and tool input delivered since the last reading; the reading empties it. */
  readonly text: string;
  readonly stopReason: string | undefined;
  /** `message_stop` has gone by, or the answer was whole. An end without it is a cut. */
  readonly ended: boolean;
  /** An error event has gone by. */
  readonly failed: boolean;
}

export type FailureKind =
  | 'connect'
  | 'timeout'
  | 'rate_limited'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'rejected'
  | 'server'
  | 'protocol';

/**
 * Why an attempt failed. `message` is for the log: a backend's own words may hold its keys, so they never reach the
 * client, except `publicMessage`, which an adapter sets for a `rejected` request after removing what is not the client's.
 */
export class UpstreamFailure extends Error {
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly publicMessage: string | undefined;
  /** It says nothing about the backend's health: it was asked for, or only this one request was turned away. */
  readonly blameless: boolean;

  constructor(
    kind: FailureKind,
    message: string,
    more: {
      status?: number;
      retryAfterMs?: number;
      publicMessage?: string;
      blameless?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'UpstreamFailure';
    this.kind = kind;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
    this.publicMessage = more.publicMessage;
    this.blameless = more.blameless ?? EARNED_BY_REQUEST.has(kind);
  }

  /** A request the backend rejects as wrong would be rejected again; everything else may go better elsewhere. */
  get retryable(): boolean {
    return this.kind !== 'rejected';
  }
}

/** A request draws these by its own content: whoever sends it could otherwise close the backend for everybody. */
const EARNED_BY_REQUEST: ReadonlySet<FailureKind> = new Set(['rejected', 'forbidden', 'not_found']);

/** A backend and its own name of a model: what fails, or is over its rate, is one model and seldom all of them. */
export interface Target {
  readonly upstream: string;
  readonly model: string;
}

/** Backends by name, with the health of each of their models, which decides whether they are asked at all. */
export interface UpstreamPool {
  get(name: string): Upstream | undefined;
  /** Milliseconds until the backend may be asked for the model again; 0 when it may be asked now. A probe counts as asking. */
  admit(target: Target): number;
  /** It was let in and then not asked after all. */
  releasePermit(target: Target): void;
  report(target: Target, result: AttemptResult): void;
  /** Whether the process may afford one more try (one budget for all requests). */
  mayRetry(): boolean;
  /** Until a stream's first event, silence within a stream, and the whole call. */
  timeouts(name: string): { readonly firstByteMs: number; readonly idleMs: number; readonly totalMs: number };
}

/** What happened to one attempt, as far as the backend's health is concerned. */
export type AttemptResult =
  | { readonly kind: 'ok'; readonly firstByteMs: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly cooldownMs: number | undefined }
  /** The backend was not at fault: the client left, or the request was wrong. */
  | { readonly kind: 'neutral' };
