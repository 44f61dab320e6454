import type { RequestId } from './ids.ts';
import type { LogFields } from './log.ts';
import type { TraceContext } from './trace.ts';

/** What is known about a request so far. Each stage adds what it learns, and every log line about the request contains it. */
export interface RequestRecord {
  readonly requestId: RequestId;
  /** The client's own `x-request-id`. */
  readonly clientRequestId: string | undefined;
  readonly trace: TraceContext | undefined;
  account: string | undefined;
  endpoint: string | undefined;
  model: string | undefined;
  /** What the body named, whatever its type; the two above are what was found for it. */
  askedEndpoint?: unknown;
  askedModel?: unknown;
  /** The backend that was called last. */
  upstream: string | undefined;
  /** Money is held for it: it goes on after its answer has begun, until `end` is set. */
  isHeld: boolean;
  end: RequestEnd | undefined;
  /** Called once `end` is set. */
  onEnd: (() => void) | undefined;
}

/** How an admitted request ended. */
export interface RequestEnd {
  readonly endpoint: string;
  readonly model: string;
  readonly ending: RequestEnding;
  /** Absent if nothing was used. */
  readonly usage: UsedTokens | undefined;
  /** In nano-USD; `undefined`: the store is unavailable, and the charge follows later. */
  readonly charged: number | undefined;
}

interface RequestEnding {
  readonly outcome: string;
  readonly errorCode?: string | undefined;
  readonly upstream?: string | undefined;
  readonly attempts: readonly EndedAttempt[];
  readonly firstByteMs?: number | undefined;
  readonly durationMs: number;
}

interface UsedTokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
  readonly images: number;
}

interface EndedAttempt {
  readonly upstream: string;
  readonly result: string;
  readonly reason?: string | undefined;
  readonly cost?: { readonly amount: number } | undefined;
}

/** Notifies those who wait for the end of a request. */
export function recordEnd(requestRecord: RequestRecord, end: RequestEnd): void {
  requestRecord.isHeld = false;
  requestRecord.end = end;
  requestRecord.onEnd?.();
}

/** Calls `tell` once the request is over: now, or when what is held for it is settled. */
export function whenOver(requestRecord: RequestRecord, tell: () => void): void {
  if (!requestRecord.isHeld) return tell();
  const before = requestRecord.onEnd;
  requestRecord.onEnd = before
    ? () => {
        before();
        tell();
      }
    : tell;
}

/** The fields that every line about a request has, as far as they are known. */
export function requestLogFields(requestRecord: RequestRecord): LogFields {
  return {
    request: requestRecord.requestId,
    client_request: requestRecord.clientRequestId,
    traceparent: requestRecord.trace?.traceparent,
    account: requestRecord.account,
    endpoint: requestRecord.endpoint,
    model: requestRecord.model,
    backend: requestRecord.upstream,
  };
}

/** A record of work that goes on after its answer. What a request computes from its headers is not copied by itself. */
export function ownRecord(requestRecord: RequestRecord): RequestRecord {
  const { clientRequestId, trace } = requestRecord;
  return { ...requestRecord, clientRequestId, trace, onEnd: undefined };
}
