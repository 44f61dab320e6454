import type { ChatEncoder, StreamEvent } from '../../wire/openai/answer.ts';
import type { ChatCompletion } from '../../wire/openai/chat.ts';

/** Where a delivery reads from, only as fast as it asks. */
export interface EventSource {
  /** Asks for more, which the listener then hears of: a promise in each layer for each chunk would cost more than the chunk. */
  next(listener: StreamListener): void;
  /** The answer is complete: the backend may close it in its own time, so that the connection can be used again. */
  release(): void;
  /** Aborts the backend and frees the connection. */
  cancel(): void;
  /** What has come and was not handed over yet: nobody will read it, but it is paid for. */
  takeArrived(): readonly DataEvent[];
  readonly bytesRead: number;
}

/** Hears what came of one `next`: bytes and events in the order in which they came, and then one of the last three. */
export interface StreamListener {
  /** Whether whole events may be offered as bytes first. */
  readonly takesBytes: boolean;
  /** Takes whole events as far as it can and says where it stopped. What it leaves comes as events. */
  onBytes(bytes: Uint8Array, from: number): number;
  onEvents(events: readonly DataEvent[]): void;
  /** That was all for now. */
  onPause(): void;
  onEnd(): void;
  onFailure(cause: unknown): void;
}

export interface DataEvent {
  readonly data: string;
  readonly event: StreamEvent;
}

/** Ends a look at a stream's first events. */
export interface OpeningSignals {
  /** Too late, or a shutdown: the attempt has failed. */
  readonly signal: AbortSignal;
  /** Nobody reads the answer any more, but the backend has accepted the request: what came so far is the answer. */
  readonly client: AbortSignal;
}

/** An answer that has shown to be one: nothing of it has reached the client yet. */
export type StartedAnswer = WholeAnswer | StreamAnswer;

export interface WholeAnswer {
  readonly kind: 'whole';
  readonly text: string;
  readonly completion: ChatCompletion;
  /** The text is in the client's own dialect already. */
  readonly passThrough?: boolean;
}

export interface StreamAnswer {
  readonly kind: 'stream';
  readonly events: EventSource;
  /** How its events reach the client, where that is not for the client's dialect to say. */
  readonly encoder?: (otherwise: ChatEncoder) => ChatEncoder;
}
