import type { RequestId } from '../std/ids.ts';

/** One HTTP request, with what a handler needs to know about its connection. */
export interface IncomingRequest {
  readonly request: Request;
  readonly requestId: RequestId;
  /** Without the query, repeated slashes collapsed. */
  readonly path: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Scheme and host as the client used them, for links. */
  readonly origin: string;
  /** The client's own address, as reported by trusted proxies. */
  readonly address: string;
  /** Called once when the request has its answer, or a stream has begun; a second callback replaces the first. */
  onAnswered(callback: () => void): void;
  /** Path parameters, in order. */
  readonly parameters: readonly string[];
}
