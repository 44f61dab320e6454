import type { AnsweredRequest } from './access-log.ts';
import type { RequestRecord } from './request-record.ts';
import type { TraceContext } from './trace.ts';

/**
 * Follows requests as spans of a distributed trace. Absent unless somebody collects them; whatever becomes of them, no
 * request waits for it or fails because of it.
 */
export interface RequestSpans {
  /** A backend is about to be called. `undefined`: this request is not sampled. */
  attempt(requestRecord: RequestRecord, upstream: string, model: string): AttemptSpan | undefined;
  /** A request has its answer; a stream's span ends with it. */
  answered(requestRecord: RequestRecord, answer: AnsweredRequest): void;
  /** Work that goes on after its request was answered has a span of its own. */
  detached(requestRecord: RequestRecord): void;
}

/** One that is not told of a failure ends with its request. */
export interface AttemptSpan {
  /** What the backend gets: this attempt is the parent of whatever it does. `undefined`: traces are not passed on. */
  readonly trace: TraceContext | undefined;
  failed(kind: string, status: number | undefined): void;
}
