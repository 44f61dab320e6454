import type { Catalog, EndpointType, Route } from '../catalog/catalog.ts';
import type { Caller, Ceiling, Ending, Ledger, RateState, Settled, Settlement } from '../ledger/port.ts';
import type { Price, Usage } from '../ledger/price.ts';
import type { Clock } from '../std/clock.ts';
import type { Fault } from '../std/fault.ts';
import type { RequestId } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { NanoUsd } from '../std/money.ts';
import type { UpstreamPool } from '../upstream/port.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import type { ChatEncoder, ShownCompletion } from '../wire/openai/answer.ts';
import type { ImageRequest } from '../wire/openai/images.ts';

/** One inference call: caller, request, size of the body, and a signal for a client that disconnects. */
export interface Call<Request> {
  readonly requestId: RequestId;
  readonly caller: Caller;
  /** User-Agent, for the request log. */
  readonly client: string;
  readonly signal: AbortSignal;
  readonly selector: RouteSelector;
  /** The model's name as the client wrote it, and will read it. */
  readonly label: string;
  readonly request: Request;
  /** Size of the body as it came: the bound of the input tokens is taken from it. */
  readonly size: BodySize;
  /** A cap above the model's is an error in the public API, and lowered for clients that always ask for more than any model has. */
  readonly cap: 'strict' | 'lowered';
  /** Told how the call ended in the books, before the last byte of its answer. `settled` is absent when the store is away. */
  readonly onClosed?: ((end: HoldEnd, settled: Settled | undefined) => void) | undefined;
}

export interface ChatCall extends Call<ChatRequest> {
  /** Turns canonical stream events into what this client's dialect expects. */
  readonly encoder: (labels: Labels) => ChatEncoder;
  /** The request in the client's own dialect, for a backend that speaks it too: nothing is translated then. */
  readonly nativeRequest?: NativeRequest | undefined;
}

export interface NativeRequest {
  readonly body: Readonly<Record<string, unknown>>;
  readonly version?: string | undefined;
  readonly beta?: string | undefined;
}

export type ImageCall = Call<ImageRequest>;

export interface RouteSelector {
  readonly code: string;
  readonly model: string;
  readonly type: EndpointType;
}

/** What the client asked for, found in the catalog, with its worst case and its price. */
export interface Order {
  readonly route: Route;
  readonly price: Price;
  readonly ceiling: Ceiling;
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
  readonly settlements: RetriedSettlements;
  readonly activeRequests: ActiveRequestSet;
  readonly metrics: RelayMetrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** How a request ends in the books: charged for what was used, or released. */
export type HoldEnd =
  | { readonly kind: 'settle'; readonly requestId: RequestId; readonly settlement: Settlement }
  | { readonly kind: 'void'; readonly requestId: RequestId; readonly ending: Ending };

/** Takes over the ends of holds that the store could not take. */
export interface RetriedSettlements {
  retryLater(end: HoldEnd, thrown: unknown): void;
}

/** A request under way. One shared clock tick looks after all of them, so a stream costs no timers of its own. */
export interface ActiveRequest {
  readonly requestId: RequestId;
  /** How far the meter has come. */
  delivered(): Usage;
  /** Looks at its own deadlines; called a few times a second. */
  tick(nowMs: number): void;
  /** Ends it in the way its client understands. */
  cut(fault: Fault): void;
}

/** The requests under way on this node. */
export interface ActiveRequestSet {
  add(request: ActiveRequest): void;
  remove(requestId: RequestId): void;
}

/** Counters for `/metrics`. */
export interface RelayMetrics {
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

/** What the response headers tell the client. */
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
