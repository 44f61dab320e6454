import type { RequestForm } from '../catalog/catalog.ts';
import type { NamedSize } from '../catalog/image-abilities.ts';
import type { AccountId } from '../std/ids.ts';
import type { JsonText } from '../std/json-parse.ts';
import type { TraceContext } from '../std/trace.ts';
import { isOutOfFiles } from '../std/open-files.ts';
import type { StreamEvent } from '../wire/openai/answer.ts';
import type { ChatCompletion, ChatRequest, ChatUsage } from '../wire/openai/chat.ts';
import type { EmbeddingRequest } from '../wire/openai/embeddings.ts';
import type { ModerationRequest } from '../wire/openai/moderations.ts';
import type { ImageRequest } from '../wire/openai/images.ts';
import { customerText, isRevealing } from './customer-text.ts';

/**
 * One attempt against one backend. Every backend speaks the canonical form, which is OpenAI's chat format: a whole
 * answer is one `chat.completion` object, a stream is a sequence of `chat.completion.chunk` with a usage chunk if the
 * backend sends one; as bytes if the backend itself writes this format, otherwise as objects. Retries, fallbacks,
 * metering and money belong to the relay.
 *
 * Failure is a thrown `UpstreamFailure`. An aborted `signal` ends the attempt and frees its connection at once.
 */
export interface Upstream extends Partial<AnthropicNative> {
  readonly name: string;
  chat(call: UpstreamChatCall): Promise<ChatAnswer>;
  images(call: UpstreamImageCall): Promise<ImageAnswer>;
  /** Absent if the backend shows nothing of an image before it is finished. Aborting the signal ends its work. */
  streamImages?(call: UpstreamImageStreamCall): Promise<AsyncIterator<ImageEvent, unknown>>;
  /**
   * Continues the jobs that `onJob` reported last, in another process or after a restart; no new job is made. What became
   * of parts without a job cannot be known. Absent if the backend does not work by jobs.
   */
  resumeImages?(parts: readonly ImagePart[], call: UpstreamImageCall): Promise<ImageAnswer>;
  /** Absent if the backend has no embeddings. */
  embed?(call: UpstreamEmbeddingCall): Promise<EmbeddingAnswer>;
  /** Absent if the backend has no moderation. One JSON object, as it answered. */
  moderate?(call: UpstreamModerationCall): Promise<JsonText>;
  /** A cheap call that verifies address and key; used by `doctor`, the admin page and the breaker's probe. */
  check(signal: AbortSignal): Promise<UpstreamHealth>;
  /** Fields of ours that it refused and does not get any more, since it was made. */
  learned?(): readonly LearnedField[];
}

/** For the operator: a field that the backend refuses, and the one that it gets instead. */
export interface LearnedField {
  readonly model: string;
  readonly field: string;
  readonly instead: string | undefined;
}

export interface UpstreamChatCall {
  /** The backend's own name of the model. */
  readonly model: string;
  /** The request form of the model's catalog entry, if it has one. */
  readonly form?: RequestForm | undefined;
  /** Validated, nulls dropped, under the same name of the model, the output cap already lowered to what the hold covers. */
  readonly request: ChatRequest;
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** The client's, which the backend gets too. */
  readonly trace?: TraceContext | undefined;
}

export type ChatAnswer = BytesAnswer | TypedAnswer;

type BytesAnswer =
  | { readonly kind: 'whole'; readonly json: JsonText }
  /** Bytes as they arrive; the first event was not inspected yet. Cancelling the stream aborts the backend. */
  | { readonly kind: 'stream'; readonly body: ReadableStream<Uint8Array> };

/**
 * From backends that do not write the canonical form themselves: objects, so that nothing is serialised only to be
 * parsed again.
 */
type TypedAnswer =
  | { readonly kind: 'completion'; readonly completion: ChatCompletion }
  /** Ends with `done`; cancelling it aborts the backend. */
  | { readonly kind: 'events'; readonly events: ReadableStream<StreamEvent> };

export interface UpstreamImageCall {
  readonly model: string;
  readonly form?: RequestForm | undefined;
  readonly request: ImageRequest;
  readonly size: string;
  /** Other names of the size, for backends that take these, if the client used them. */
  readonly shape?: NamedSize | undefined;
  /** The format that the client wants where the backend does not make it; `request.output_format` is not set then. */
  readonly convertTo?: string | undefined;
  /**
   * With `onJob`, only an abort because of a timeout cancels the jobs at the backend: after any other they are resumed,
   * unless `endsWithProcess`.
   */
  readonly signal: AbortSignal;
  readonly endsWithProcess?: boolean | undefined;
  readonly requestId: string;
  /**
   * Called when a backend that works by jobs has accepted one, with what `resumeImages` needs: all parts that were
   * submitted. Each further call replaces what was reported before. Must not throw.
   */
  readonly onJob?: ((parts: readonly ImagePart[]) => void | Promise<void>) | undefined;
  /** The client's, which the backend gets too. */
  readonly trace?: TraceContext | undefined;
}

/** One of the calls that a request for images is split into. */
export interface ImagePart {
  readonly images: number;
  /** What the backend calls it: at most 700 characters without spaces. Absent until it has accepted it as a job. */
  readonly job?: string | undefined;
}

/** Formats that a client gets whatever its backend makes. */
export const CONVERTED_FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'webp']);

export interface UpstreamImageStreamCall extends UpstreamImageCall {
  /** How many pictures may be shown of each image before it is finished; at least one. */
  readonly partialImages: number;
}

/** A stream of images ends after the last `completed` or `lost`. */
export type ImageEvent =
  | { readonly kind: 'partial'; readonly image: GeneratedImage; readonly index: number }
  | LostImages
  | {
      readonly kind: 'completed';
      readonly image: GeneratedImage;
      /** The usage of this image, as the backend reports it. */
      readonly usage?: unknown;
      readonly quality?: string | undefined;
    };

export type ShownImageEvent = Exclude<ImageEvent, LostImages>;

/** See `lost` of {@link ImageAnswer}. */
interface LostImages {
  readonly kind: 'lost';
  readonly images: number;
}

/** A whole answer as a stream: nothing is shown before its images are finished. */
export async function* finishedImages({
  images,
  usage,
  quality,
  lost = 0,
}: ImageAnswer): AsyncGenerator<ImageEvent> {
  for (const [index, image] of images.entries()) {
    const isLast = index === images.length - 1;
    yield await Promise.resolve({ kind: 'completed', image, quality, usage: isLast ? usage : undefined });
  }
  if (lost > 0) yield { kind: 'lost', images: lost };
}

export interface UpstreamEmbeddingCall {
  readonly model: string;
  readonly request: EmbeddingRequest;
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** The client's, which the backend gets too. */
  readonly trace?: TraceContext | undefined;
}

export interface UpstreamModerationCall extends Omit<UpstreamEmbeddingCall, 'request'> {
  readonly request: ModerationRequest;
}

export interface EmbeddingAnswer {
  /** As the backend reports it. */
  readonly usage: unknown;
  /** The answer in OpenAI's shape, with other values of these members; one that is `undefined` is left out. */
  text(changed: { readonly model: string; readonly usage?: unknown }): string;
}

export interface ImageAnswer {
  readonly images: readonly GeneratedImage[];
  /** The backend's own usage object, shown to the client without what it costs us. */
  readonly usage?: unknown;
  /** The quality of the images, if the backend reports it. */
  readonly quality?: string | undefined;
  /** Images beside these that the backend may have made and may bill: they did not arrive, or cannot be decoded. */
  readonly lost?: number | undefined;
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
 * Backends that speak Anthropic's Messages API also accept such a request unchanged: without conversion, thinking
 * signatures, cache marks and new features reach the backend and the client intact.
 */
export interface AnthropicNative {
  messages(call: MessagesCall): Promise<NativeAnswer>;
  /** `POST /messages/count_tokens`: one JSON object, free of charge at the backend. */
  countTokens(call: MessagesCall): Promise<JsonText>;
}

export interface MessagesCall {
  /** The backend's own name of the model; replaces the one in the body. */
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the hold covers: a higher or missing `max_tokens` becomes this. */
  readonly maxTokens: number;
  /** The client's `anthropic-version` and `anthropic-beta`, passed on. */
  readonly version?: string | undefined;
  readonly beta?: string | undefined;
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** The client's, which the backend gets too. */
  readonly trace?: TraceContext | undefined;
}

/** Bytes of the Messages dialect, and what was read from those that have passed so far. */
export type NativeAnswer = BytesAnswer & { reading(): MessagesReading };

export interface MessagesReading {
  /** Canonical usage as reported so far; undefined if it cannot be true. */
  readonly usage: ChatUsage | undefined;
  /** No text followed the usage. */
  readonly isUsageFinal: boolean;
  /** Text and tool input since the last reading, which empties it. */
  readonly text: string;
  /** The same of what the model thinks. */
  readonly thought: string;
  readonly stopReason: string | undefined;
  /** `message_stop` has passed, or the answer was whole. An end without it is a cut. */
  readonly ended: boolean;
  /** An error event has passed. */
  readonly failed: boolean;
}

export type FailureKind =
  /** The backend cannot have seen the request. */
  | 'connect'
  /** This process has no file descriptor left for a connection: the backend was not called. */
  | 'overloaded'
  /** The connection ended before the answer, after the request may have reached the backend. */
  | 'connection_lost'
  | 'timeout'
  | 'rate_limited'
  | 'unauthorized'
  /** The operator's account at the provider is empty, or over its limit of spending. */
  | 'out_of_credit'
  | 'forbidden'
  | 'not_found'
  | 'rejected'
  | 'server'
  | 'protocol';

/**
 * Why an attempt failed. `message` is for the log: a backend's own text may contain its keys and addresses, so it never
 * reaches the client. `publicMessage` does, for a `rejected` request: whatever it is set to, here it becomes what a
 * customer may read.
 */
export class UpstreamFailure extends Error {
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly publicMessage: string | undefined;
  /** The client gets to read less than the backend said. */
  readonly isShortened: boolean;
  /** The field of a `rejected` request that the backend names. */
  readonly param: string | undefined;
  /**
   * Such a failure says nothing about the backend's health: the call was cancelled, or only this request was refused.
   */
  readonly blameless: boolean;
  /** The error has the backend's own shape and is whole. Any other may come from a proxy before it. */
  readonly isOwnError: boolean;

  constructor(
    kind: FailureKind,
    message: string,
    more: {
      status?: number;
      retryAfterMs?: number;
      publicMessage?: string;
      param?: string | undefined;
      blameless?: boolean;
      isOwnError?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(withoutQuotes(message), more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'UpstreamFailure';
    this.kind = kind;
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
    this.publicMessage = more.publicMessage === undefined ? undefined : customerText(more.publicMessage);
    this.isShortened = this.publicMessage !== more.publicMessage;
    this.param = more.param === undefined || isRevealing(more.param) ? undefined : more.param;
    this.blameless = more.blameless ?? CAUSED_BY_REQUEST.has(kind);
    this.isOwnError = more.isOwnError ?? false;
  }

  /** A request that the backend rejects would be rejected again; any other failure may not repeat elsewhere. */
  get retryable(): boolean {
    return this.kind !== 'rejected';
  }
}

/**
 * Whether the backend may have done the work and bill it. With the other failures it refuses a request, never saw it, or
 * says itself that it could not do it; an error of the server that it did not tell itself may come from something before
 * it, while it works on.
 */
export function mayBeBilled({ kind, status, isOwnError }: UpstreamFailure): boolean {
  const isLost = kind === 'connection_lost' || kind === 'timeout' || kind === 'protocol';
  return isLost || (isServerError(status) && !isOwnError);
}

export function isServerError(status: number | undefined): boolean {
  return status !== undefined && status >= 500;
}

/**
 * A quoted text in a backend's message may be the client's own, which must not reach a log. Names and numbers are
 * shorter.
 */
function withoutQuotes(message: string): string {
  return message
    .slice(0, MAX_MESSAGE)
    .replace(/(["'`])(?:(?!\1)[\s\S]){25,}?\1|“[^”]{25,}”|«[^»]{25,}»/g, '‹quoted›');
}

const MAX_MESSAGE = 1_000;

/** A request can cause these by its content: if they counted, its sender could block the backend for everybody. */
const CAUSED_BY_REQUEST: ReadonlySet<FailureKind> = new Set(['rejected', 'forbidden', 'not_found']);

/**
 * The failure behind an error of `fetch`, or of reading an answer. `connect` means that the backend cannot have seen
 * the request. Anything else is `connection_lost`: the backend may be working on it, and will bill it.
 */
export function connectionFailure(cause: unknown, host?: string): UpstreamFailure {
  const text = cause instanceof Error ? cause.message : String(cause);
  const message = host === undefined ? text : `cannot reach ${host}: ${text}`;
  if (isOutOfFiles(cause)) return new UpstreamFailure('overloaded', message, { cause, blameless: true });
  return new UpstreamFailure(wasSent(cause) ? 'connection_lost' : 'connect', message, { cause });
}

/** Errors of name resolution, of the connection's set-up and of the TLS handshake, by Bun's and OpenSSL's names. */
const NOT_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|CERT_\w+|HOSTNAME_MISMATCH|ERR_TLS_\w+|ERR_SSL_\w+)$/;

function wasSent(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code !== 'string' || !NOT_SENT.test(code);
}

/** The call that a backend is chosen for. A failure or a rate limit usually concerns one model, not all of them. */
export interface UpstreamTarget {
  readonly upstream: string;
  /** The backend's own name of the model. */
  readonly model: string;
  /** Whose request it is: failures that one account's requests cause must not close a backend for the others. */
  readonly account: AccountId;
}

/** Backends by name, with the health of each of their models, which decides whether they are called at all. */
export interface UpstreamPool {
  has(name: string): boolean;
  /** A permit to call the backend for the model now, with one of its keys; or how long to wait for one. */
  admit(target: UpstreamTarget): UpstreamPermit | UpstreamWait;
  /** Whether the retry budget, which all requests share, allows one more attempt. */
  mayRetry(): boolean;
  /** The deadlines until a stream's first event, for silence within a stream, and for the whole call. */
  timeouts(name: string): { readonly firstByteMs: number; readonly idleMs: number; readonly totalMs: number };
}

/** For one call; it may be a probe. Either `report` or `release` is called, once. */
export interface UpstreamPermit {
  readonly kind: 'permit';
  readonly upstream: Upstream;
  /** A key that was refused rests, and the next permit is for another. */
  readonly hasOtherKeys: boolean;
  report(result: AttemptResult): void;
  /** The permit was not used. */
  release(): void;
}

export interface UpstreamWait {
  readonly kind: 'wait';
  readonly waitMs: number;
}

/** The result of one attempt, as far as it concerns the backend's health. */
export type AttemptResult =
  | { readonly kind: 'ok'; readonly firstByteMs: number }
  | { readonly kind: 'failed'; readonly reason: FailureKind; readonly cooldownMs: number | undefined }
  /** The backend was not at fault: the client left, or the request was wrong. */
  | { readonly kind: 'neutral' };
