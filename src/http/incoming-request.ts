import type { RequestId } from '../std/ids.ts';
import type { RequestNotes } from '../std/request-notes.ts';

/** One HTTP request, with what a handler needs to know about its connection. */
export interface IncomingRequest {
  readonly request: Request;
  readonly requestId: RequestId;
  /** For whatever is logged about it. */
  readonly notes: RequestNotes;
  /** Without the query, repeated slashes collapsed. */
  readonly path: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Scheme and host as the client used them, for links. */
  readonly origin: string;
  /** The other end of the connection, which may be a proxy. */
  readonly peer: string;
  /** The client's own address, as reported by trusted proxies. */
  readonly address: string;
  /** Called once when the request has its answer, or a stream has begun; a second callback replaces the first. */
  onAnswered(callback: () => void): void;
  /** Path parameters, in order. */
  readonly parameters: readonly string[];
}
