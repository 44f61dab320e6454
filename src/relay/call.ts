import type { Catalog, EndpointType } from '../catalog/catalog.ts';
import type { Caller, Ledger, RateState } from '../ledger/port.ts';
import type { Clock } from '../std/clock.ts';
import type { RequestId } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { NanoUsd } from '../std/money.ts';
import type { UpstreamPool } from '../upstream/port.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import type { ChatEncoder } from '../wire/openai/chat-stream.ts';
import type { ShownCompletion } from '../wire/openai/completion.ts';
import type { ImageRequest } from '../wire/openai/images.ts';
import type { Closing } from './hold/settlement-retry-queue.ts';
import type { Running } from './hold/active-requests.ts';

/** One inference call as the edge hands it in: who, what, how large, and how to notice that the client left. */
export interface Call<Request> {
  readonly requestId: RequestId;
  readonly caller: Caller;
  /** User-Agent, for the request log. */
  readonly client: string;
  readonly signal: AbortSignal;
  readonly wanted: Wanted;
  /** The model's name as the client wrote it, and will read it. */
  readonly label: string;
  readonly request: Request;
  /** Size of the body as it came: the bound of the input tokens is taken from it. */
  readonly size: BodySize;
  /** A cap above the model's is an error in the public API, and lowered for clients that always ask for the sky. */
  readonly cap: 'strict' | 'lowered';
}

export interface ChatCall extends Call<ChatRequest> {
  /** Turns canonical stream events into what this client's dialect expects. */
  readonly encoder: (labels: Labels) => ChatEncoder;
  /** The request in the client's own dialect, for a backend that speaks it too: nothing is translated then. */
  readonly own?: OwnRequest | undefined;
}

export interface OwnRequest {
  readonly body: Readonly<Record<string, unknown>>;
  readonly version?: string | undefined;
  readonly beta?: string | undefined;
}

export type ImageCall = Call<ImageRequest>;

export interface Wanted {
  readonly code: string;
  readonly model: string;
  readonly type: EndpointType;
}

/** What the client should see in place of the backend's own names. */
export interface Labels {
  readonly id: string;
  readonly model: string;
}

export interface BodySize {
  readonly bytes: number;
  /** UTF-16 units of the same text. */
  readonly characters: number;
}

/** The services a relay works with, made once at start. */
export interface RelayParts {
  readonly ledger: Ledger;
  catalog(): Catalog;
  readonly upstreams: UpstreamPool;
  readonly closing: Closing;
  readonly running: Running;
  readonly tally: Tally;
  readonly clock: Clock;
  readonly log: Log;
}

/** Counts what passes, for whoever watches. */
export interface Tally {
  refused(reason: string): void;
  request(done: FinishedRequest): void;
  /** What a backend used beyond a hold. */
  overrun(amount: NanoUsd): void;
}

export interface FinishedRequest {
  readonly endpoint: string;
  readonly outcome: string;
  readonly durationMs: number;
  readonly firstByteMs?: number | undefined;
}

/** What the edge tells the client besides the body. */
export interface Terms {
  readonly requestId: RequestId;
  readonly endpoint: string;
  readonly model: string;
  readonly rate: RateState;
  readonly held: NanoUsd;
  readonly available: NanoUsd;
  /** The cap the hold covers, over all choices. */
  readonly outputCap: number;
  /** Set when the balance could not afford the output cap that was asked for. */
  readonly loweredCap: number | undefined;
}

export type ChatReply =
  | {
      readonly kind: 'whole';
      readonly terms: Terms;
      readonly shown: ShownCompletion;
      /** `undefined`: the store is away, the charge will follow. */
      readonly charged: NanoUsd | undefined;
    }
  | { readonly kind: 'stream'; readonly terms: Terms; readonly body: ReadableStream<Uint8Array> };
