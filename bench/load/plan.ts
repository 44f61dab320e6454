/** What a load generator is told to do. */
export interface LoadPlan {
  readonly url: string;
  /** Sent in turn; each request is a complete set of headers and a body. */
  readonly requests: readonly { readonly headers: Readonly<Record<string, string>>; readonly body: string }[];
  readonly seconds: number;
  /** Closed loop: each connection sends its next request when the last one is answered. */
  readonly connections: number;
  /** Open loop: so many requests a second whatever the answers do, on as many connections as that takes. */
  readonly ratePerSecond?: number | undefined;
}

export interface LoadResult {
  readonly requests: number;
  /** Answers other than 200, and connections that broke. */
  readonly errors: number;
  readonly events: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly firstByteP50Ms: number;
  readonly firstByteP99Ms: number;
  /** Why some failed, for the reader. */
  readonly complaint: string | undefined;
}

/** A request as it goes over the wire. */
export function encodeRequest(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Uint8Array {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries({
    host,
    'user-agent': 'tollgate-bench/1',
    'content-type': 'application/json',
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return new TextEncoder().encode(`POST ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
