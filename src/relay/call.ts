import type { Catalog, EndpointType, Route, WantedImage } from '../catalog/catalog.ts';
import type {
  Caller,
  Ceiling,
  Ending,
  Ledger,
  RateState,
  ReachedLimit,
  Settled,
  Settlement,
} from '../ledger/port.ts';
import type { Price, Usage } from '../ledger/price.ts';
import type { Clock } from '../std/clock.ts';
import type { DailyCosts } from './daily-costs.ts';
import type { Fault } from '../std/fault.ts';
import type { AccountId, RequestId } from '../std/ids.ts';
import type { Log, LogFields } from '../std/log.ts';
import type { NanoUsd } from '../std/money.ts';
import type { RequestEnd, RequestRecord } from '../std/request-record.ts';
import type { RequestSpans } from '../std/access-log.ts';
import type { TokenCounter } from '../tokenizer/port.ts';
import type { UpstreamPool } from '../upstream/port.ts';
import type { Knobs } from '../wire/field-table.ts';
import type { ChatCompletion, ChatRequest, ChatUsage } from '../wire/openai/chat.ts';
import type { ChatEncoder, ShownCompletion } from '../wire/openai/answer.ts';
import type { ImageRequestWith } from '../wire/openai/images.ts';

/** One inference call: caller, request, size of the body, and the connection of a client that may leave. */
export interface Call<Request> {
  readonly requestId: RequestId;
  readonly caller: Caller;
  /** User-Agent, for the request log. */
  readonly client: string;
  readonly connection: ClientConnection;
  /** What is known of it so far, for its log lines. */
  readonly requestRecord?: RequestRecord | undefined;
  readonly selector: RouteSelector;
  /** The model's name as the client wrote it, which the answer repeats. */
  readonly label: string;
  readonly request: Request;
  /** Size of the body as received; the bound on the input tokens is computed from it. */
  readonly size: BodySize;
  /** The earlier request with the same Idempotency-Key whose stream broke. */
  readonly retryOf?: string | undefined;
  /** Whether it has an Idempotency-Key: its client may come back for its answer. */
  readonly isKeyed?: boolean | undefined;
  /** The most that the client will pay. */
  readonly maxCost?: NanoUsd | undefined;
  /** What the client says about the request, if anything; see {@link KeptTags}. */
  readonly tags?: SaidTags | undefined;
  /** The fields of the request that need a decision, if it has any. */
  readonly knobs?: Knobs | undefined;
  /**
   * A cap above the model's is an error in the public API. For clients that always send a cap above any model's it is
   * lowered.
   */
  readonly cap: 'strict' | 'lowered';
  /**
   * Called with the outcome of the call before the last byte of its answer. `settled` is absent when the store is
   * unavailable.
   */
  readonly onClosed?: ((end: HoldEnd, settled: Settled | undefined) => void) | undefined;
}

/** OpenAI's fields, as they came. */
interface SaidTags {
  readonly user?: unknown;
  readonly metadata?: unknown;
}

/** Most requests are over before anybody asks for the signal, and the runtime makes it only then. */
export interface ClientConnection {
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  readonly hasLeft: boolean;
}

export function connectionOf(signal: AbortSignal): ClientConnection {
  return {
    signal,
    get hasLeft() {
      return signal.aborted;
    },
  };
}

/** For work that continues whether its client stays or not. */
export const NOBODY_LEAVES: ClientConnection = { signal: new AbortController().signal, hasLeft: false };

export interface ChatCall extends Call<ChatRequest> {
  /** Turns canonical stream events into what this client's dialect expects. */
  readonly encoder: (labels: Labels, request: ChatRequest) => ChatEncoder;
  /**
   * Called with a complete answer while it is settled; its last byte waits for it. Never rejects. A streamed answer is in
   * its encoder.
   */
  readonly onComplete?: ((answer: CompleteAnswer) => Promise<void>) | undefined;
  /** The request in the client's own dialect, for a backend that speaks it too and needs no translation. */
  readonly nativeRequest?: NativeRequest | undefined;
}

export interface CompleteAnswer {
  readonly accountId: AccountId;
  /** Absent from an answer that was streamed. */
  readonly completion?: ChatCompletion | undefined;
  /** The usage by our own count, for a stream whose backend has reported none. */
  readonly usage?: ChatUsage | undefined;
}

export interface NativeRequest {
  readonly body: Readonly<Record<string, unknown>>;
  readonly version?: string | undefined;
  readonly beta?: string | undefined;
  /** Fields that no other dialect can express; a backend of another dialect refuses a request with them. */
  readonly untranslatable?: Fault | undefined;
}

export type ImageCall = Call<AskedImages>;

export type AskedImages = ImageRequestWith<InputPicture>;

/** A picture that a request starts from. It is loaded once the request has its hold, and not for one that is refused. */
export interface InputPicture {
  readonly mime: string;
  /** `undefined`: it was sent to another process, which has given it to the backend. */
  load(): Promise<Uint8Array<ArrayBuffer> | undefined>;
}

export interface RouteSelector {
  readonly code: string;
  readonly model: string;
  readonly type: EndpointType;
}

/** The route that the client asked for, with its price and the most that the request can use. */
export interface Quote {
  readonly route: Route;
  readonly price: Price;
  readonly ceiling: Ceiling;
  /** The output cap before it was lowered to the client's `max_cost_usd`. */
  readonly askedOutput?: number | undefined;
  /** For a request without a cap of its own; see the ledger's port. */
  readonly leastShare?: number | undefined;
  /** Web searches that are charged although the backend reports fewer. */
  readonly leastWebSearches?: number | undefined;
  /** Which image is meant. */
  readonly image?: WantedImage | undefined;
  /** The input, where the ceiling has only a bound on it; absent if the ceiling cannot be tighter. */
  readonly uncounted?: UncountedInput | undefined;
  /** The input is so long that it is counted in any case. */
  readonly mayBeTooLong?: boolean | undefined;
}

export interface UncountedInput {
  /**
   * The ceiling with a count in place of the bound, as far as it is ready in time. Throws the fault for the client if the
   * count says that the request cannot be served. With a signal it ends when that is aborted.
   */
  ceilingByCount(client?: AbortSignal): Promise<Ceiling>;
}

/** What the client sees in place of the backend's own names. */
export interface Labels {
  readonly id: string;
  readonly model: string;
}

export interface BodySize {
  readonly bytes: number;
  /** UTF-16 units of the same text. */
  readonly characters: number;
}

/** The services that the relay uses, made once at startup. */
export interface RelayParts {
  readonly ledger: Ledger;
  /** With list prices; see `catalogOf`. */
  catalog(): Catalog;
  /** Looks for newer prices, where those that are known may have ended. */
  readonly refreshCatalog?: (() => Promise<void>) | undefined;
  /** Absent where no wallet is in a price group. */
  readonly seenGroups?: SeenPriceGroups | undefined;
  readonly upstreams: UpstreamPool;
  readonly settlements: RetriedSettlements;
  readonly activeRequests: ActiveRequestSet;
  readonly metrics: RelayMetrics;
  /** Absent unless spans are collected. */
  readonly spans?: RequestSpans | undefined;
  /** Absent where no upstream has a limit of its costs to keep. */
  readonly dailyCosts?: DailyCosts | undefined;
  readonly tokens: TokenCounter;
  /** How long a request waits for the count of a short input, before it is held by its bound. */
  readonly countWaitMs: number;
  /** How often a stream of images gets a comment line while nothing else comes. */
  readonly commentMs?: number | undefined;
  /** Called for a request that a monthly limit or a budget refuses. */
  readonly onLimitReached?: ((caller: Caller, limit: ReachedLimit) => void) | undefined;
  /** The request slots of the process. */
  readonly requestSlots?: { share(caller: string, wallet: string): void } | undefined;
  readonly tags?: KeptTags | undefined;
  /** Absent where no card is ever charged. */
  readonly topUps?: AdmissionTopUps | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** The price groups that callers' wallets were last seen in: a guess, which the ledger checks. */
interface SeenPriceGroups {
  /** Empty, and nothing else is asked then, while nobody is in a group. */
  readonly known: ReadonlyMap<string, string>;
  of(caller: Caller): string | undefined;
  saw(caller: Caller, group: string | undefined): void;
  /** The catalog as the caller's wallet was last seen to see it. */
  view(catalog: Catalog, caller: Caller): Catalog;
}

/** The tags of requests, for wallets whose owners asked for them. */
interface KeptTags {
  /** `undefined`: there is nothing to keep. Otherwise no backend is called before they are kept. */
  keep(
    call: Pick<Call<unknown>, 'requestId' | 'tags'>,
    admitted: { readonly accountId: AccountId; readonly walletId?: AccountId | undefined },
  ): Promise<void> | undefined;
  /** For a request that another process admitted, which may have died before it stored the tags. */
  keepAdopted(call: Pick<Call<unknown>, 'requestId' | 'tags'>, accountId: AccountId): Promise<void>;
}

/** Saved cards that are charged when a balance runs low. */
interface AdmissionTopUps {
  /** A request was admitted, and this much is left to spend. Returns at once. */
  admitted(accountId: AccountId, available: NanoUsd): void;
  /**
   * A request was refused for lack of money. True once there is more than `available`; waits, for a bounded time, only
   * if a card is charged.
   */
  covered(caller: Caller, available: NanoUsd, signal: AbortSignal): Promise<boolean>;
}

/** How a request ends in the ledger: charged for what was used, or released. */
export type HoldEnd =
  | { readonly kind: 'settle'; readonly requestId: RequestId; readonly settlement: Settlement }
  | { readonly kind: 'void'; readonly requestId: RequestId; readonly ending: Ending };

/** Takes over holds that could not be closed because the store was unavailable. */
export interface RetriedSettlements {
  retryLater(end: HoldEnd, thrown: unknown, about?: LogFields, onClosed?: (settled: Settled) => void): void;
}

/** A running request. One shared timer checks all of them, so a stream needs no timers of its own. */
export interface ActiveRequest {
  readonly requestId: RequestId;
  /** The usage metered so far. */
  delivered(): Usage;
  /** For a request that a backend has accepted: resolves when its input is counted, so that `delivered` includes it. */
  countInput?(): Promise<unknown>;
  /** Checks its own deadlines; called a few times a second. */
  tick(nowMs: number): void;
  /** Ends it with an error in its client's dialect. */
  cut(fault: Fault): void;
}

/** The running requests of this node. */
export interface ActiveRequestSet {
  /** `requestRecord` tells which backend has the request. */
  add(request: ActiveRequest, requestRecord?: RequestRecord): void;
  remove(requestId: RequestId): void;
  /** Whether the request is between admission and settlement. */
  has(requestId: RequestId): boolean;
}

/** Counters for `/metrics`. */
interface RelayMetrics {
  refused(reason: string): void;
  request(done: RequestEnd): void;
  /** The charge of a request that was counted without one, because the store was unavailable. */
  chargedLater(done: RequestEnd): void;
  /** The price of what a backend used beyond the hold. */
  overrun(amount: NanoUsd): void;
  /** The part of a request's cost that was not charged. */
  loss(amount: number): void;
}

/** The output cap for each choice, and what lowered it: what is free of the balance, or the client's `max_cost_usd`. */
export interface LoweredCap {
  readonly output: number;
  readonly reason: 'balance' | 'max_cost';
}

/** What the response headers tell the client about its admitted request. */
export interface AdmissionSummary {
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly endpoint: string;
  readonly model: string;
  readonly rate: RateState;
  readonly held: NanoUsd;
  readonly available: NanoUsd;
  /** The output cap that the hold covers, summed over all choices. */
  readonly outputCap: number;
  /** The names of fields that did not reach the backend that answered, as a list. */
  readonly dropped: string | undefined;
  /** Set when the output cap is lower than what was requested, or than the model's own where nothing was. */
  readonly loweredCap: LoweredCap | undefined;
  /** What is left of the account's budget, where it has one. */
  readonly budgetLeft?: NanoUsd | undefined;
}

export type ChatReply =
  | {
      readonly kind: 'whole';
      readonly summary: AdmissionSummary;
      readonly shown: ShownCompletion;
      /** `undefined`: the store is unavailable, and the charge follows later. */
      readonly charged: NanoUsd | undefined;
    }
  | {
      readonly kind: 'stream';
      readonly summary: AdmissionSummary;
      readonly body: ReadableStream<Uint8Array>;
    };

/** What every inference call has, whatever it asks for. */
export type CallBase = Pick<
  Call<unknown>,
  | 'requestId'
  | 'caller'
  | 'client'
  | 'connection'
  | 'size'
  | 'maxCost'
  | 'onClosed'
  | 'retryOf'
  | 'isKeyed'
  | 'requestRecord'
  | 'tags'
>;
