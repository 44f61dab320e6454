import type { Outcome, Settled } from '../ledger/port.ts';
import type { Usage } from '../ledger/price.ts';
import type { AccountId, RequestId } from '../std/ids.ts';
import type { RequestMemory } from '../std/held-memory.ts';
import type { RequestRecord } from '../std/request-record.ts';

/**
 * The relay as the playground needs it: the same calls as the public API, on an account instead of a token. They answer
 * like the public API does (a stream of chunks that ends in `[DONE]`, the image response with links, or a stream of images)
 * and throw a `Fault` for anything that fails before the first byte.
 */
export interface PlaygroundRelay {
  chat(call: PlaygroundCall): Promise<Response>;
  /** With pictures in `image` it is an edit. */
  images(call: PlaygroundCall): Promise<Response>;
  /** The same in the background; resolves when it has its hold and its row. Its id is the call's. */
  startImageJob(call: PlaygroundCall): Promise<void>;
  /** The most that a call could cost. No backend is called. */
  quote(call: QuotedCall): Promise<CallQuote>;
}

export type QuotedCall = Omit<PlaygroundCall, 'onClosed' | 'origin'>;

interface CallQuote {
  readonly maxCostUsd: string;
  /** The output cap of a chat. */
  readonly maxTokens?: number | undefined;
}

export interface PlaygroundCall {
  readonly accountId: AccountId;
  readonly requestId: RequestId;
  readonly requestRecord?: RequestRecord | undefined;
  /** Parsed JSON, not yet checked: `endpoint`, `model` and whatever else the public API takes. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly size: { readonly bytes: number; readonly characters: number };
  /** The memory of the request, where loaded pictures count. */
  readonly memory: Pick<RequestMemory, 'hold' | 'keep'>;
  /** Aborted when the reader leaves. */
  readonly signal: AbortSignal;
  readonly client: string;
  /** For the links to images. */
  readonly origin: string;
  /** Called before the answer ends, with what it cost. */
  onClosed(closed: ClosedCall): void;
}

/** How a call ended in the ledger. */
export interface ClosedCall {
  readonly outcome: Outcome;
  readonly usage: Usage;
  /** `undefined`: the store is unavailable, the charge will follow. */
  readonly settled: Settled | undefined;
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
}
