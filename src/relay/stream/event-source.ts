import type { JsonText } from '../../std/json-parse.ts';
import type { ChatEncoder, StreamEvent } from '../../wire/openai/answer.ts';
import type { ChatCompletion } from '../../wire/openai/chat.ts';

/** What a delivery reads from, only as fast as it asks. */
export interface EventSource {
  /**
   * Asks for more, which the listener then gets: a promise per layer and chunk would cost more than the chunk itself.
   */
  next(listener: StreamListener): void;
  /** The answer is complete: the backend may close it in its own time, so that the connection can be reused. */
  release(): void;
  /** Aborts the backend and frees the connection. */
  cancel(): void;
  readonly bytesRead: number;
}

/** Gets the result of one `next`: bytes and events in the order of their arrival, then one of the last three calls. */
export interface StreamListener {
  /** Whether whole events may be offered as bytes first. */
  readonly takesBytes: boolean;
  /** Takes whole events as far as it can and returns where it stopped. The rest is passed as events. */
  onBytes(bytes: Uint8Array, from: number): number;
  onEvents(events: readonly DataEvent[]): void;
  /** Everything that has arrived was passed on. */
  onPause(): void;
  onEnd(): void;
  onFailure(cause: unknown): void;
}

export interface DataEvent {
  readonly data: string;
  readonly event: StreamEvent;
}

/** Signals that end the wait for a stream's first events. */
export interface StartSignals {
  /** A timeout or a shutdown: the attempt has failed. */
  readonly signal: AbortSignal;
  /** The client left, but the backend has accepted the request: what has arrived so far is the answer. */
  readonly client: AbortSignal;
}

/** An answer that has proved to be one; nothing of it has reached the client yet. */
export type StartedAnswer = WholeAnswer | StreamAnswer;

export interface WholeAnswer {
  readonly kind: 'whole';
  readonly text: string;
  readonly completion: ChatCompletion;
  /** Where a long text has the members of its outermost object. */
  readonly members?: JsonText['members'];
  /** The text is already in the client's own dialect. */
  readonly passThrough?: boolean;
}

export interface StreamAnswer {
  readonly kind: 'stream';
  readonly events: EventSource;
  /** How its events are encoded, where that is not up to the client's dialect. */
  readonly encoder?: (otherwise: ChatEncoder) => ChatEncoder;
}
