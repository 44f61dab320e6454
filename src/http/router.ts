import type { RequestId } from '../std/ids.ts';
import type { RequestRecord } from '../std/request-record.ts';
import type { FaultShape } from './response.ts';

export type Method = 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH' | 'HEAD';

export interface HttpRoute {
  readonly method: Method;
  /** Literal segments; `*` matches one segment, a final `**` the rest, slashes included, up to a suffix such as `:count`. */
  readonly path: string;
  handle(incoming: IncomingRequest): Promise<Response>;
  /** The shape of errors here; by default the public API's. */
  readonly faults?: FaultShape;
}

/** One HTTP request, with what a handler needs to know about its connection. */
export interface IncomingRequest {
  readonly request: Request;
  readonly requestId: RequestId;
  /** What is known of it so far, for its log lines. */
  readonly requestRecord: RequestRecord;
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

type RouteMatch =
  | { readonly kind: 'route'; readonly route: HttpRoute; readonly parameters: readonly string[] }
  | { readonly kind: 'wrong_method'; readonly allowed: readonly string[] }
  | { readonly kind: 'not_found' };

/** Finds routes by path. Paths without parameters are one map lookup; the few others are tried in order. */
export class Router {
  readonly routes: readonly HttpRoute[];
  readonly #exact = new Map<string, HttpRoute[]>();
  readonly #patterns: { readonly pattern: RegExp; readonly route: HttpRoute }[] = [];

  constructor(routes: readonly HttpRoute[]) {
    this.routes = routes;
    for (const route of routes) {
      if (route.path.includes('*')) this.#patterns.push({ pattern: patternOf(route.path), route });
      else this.#exact.set(route.path, [...(this.#exact.get(route.path) ?? []), route]);
    }
  }

  find(method: string, path: string): RouteMatch {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const candidates = this.#candidates(path);
    if (candidates.length === 0) return { kind: 'not_found' };
    const hit = candidates.find(({ route }) => route.method === wanted || route.method === method);
    if (hit) return { kind: 'route', ...hit };
    return { kind: 'wrong_method', allowed: [...new Set(candidates.map(({ route }) => route.method))] };
  }

  /** Where a request for a path that does not exist should probably have gone: its base URL has a `/v1` too many, or none. */
  likelyPath(path: string): string | undefined {
    const likely = path.includes('/v1/v1/') ? path.replace('/v1/v1/', '/v1/') : `/v1${path}`;
    return this.#candidates(likely).length > 0 ? likely : undefined;
  }

  /** The shape of errors at a path, also below a route: clients read no other. */
  faultsAt(path: string): FaultShape | undefined {
    for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const [route] = this.#exact.get(at) ?? [];
      if (route) return route.faults;
    }
    return undefined;
  }

  #candidates(path: string): { route: HttpRoute; parameters: readonly string[] }[] {
    const exact = this.#exact.get(path);
    if (exact) return exact.map((route) => ({ route, parameters: [] }));
    return this.#patterns.flatMap(({ pattern, route }) => {
      const match = pattern.exec(path);
      return match ? [{ route, parameters: match.slice(1).map(decodeSegment) }] : [];
    });
  }
}

/**
 * The path of a request: without the query, `//` collapsed, so that a client with an extra slash still finds its route.
 */
export function pathOf(url: string): string {
  // Without a usable Host header the URL is only the path.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
  if (start === -1) return '/';
  const query = url.indexOf('?', start);
  const path = query === -1 ? url.slice(start) : url.slice(start, query);
  const collapsed = path.includes('//') ? path.replace(/\/{2,}/g, '/') : path;
  return collapsed.length > 1 && collapsed.endsWith('/') ? collapsed.slice(0, -1) : collapsed;
}

function patternOf(path: string): RegExp {
  const source = path
    .split('/')
    .map((segment) =>
      segment.startsWith('**')
        ? `(.+)${escaped(segment.slice(2))}`
        : segment === '*'
          ? '([^/]+)'
          : escaped(segment),
    )
    .join('/');
  return new RegExp(`^${source}$`);
}

function escaped(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
}

function decodeSegment(segment: string): string {
  try {
    const decoded = decodeURIComponent(segment);
    // None of our names contains a NUL, and Postgres rejects it in a query.
    return decoded.includes('\0') ? segment : decoded;
  } catch {
    // A malformed escape is left as it is; none of our names contains one.
    return segment;
  }
}
