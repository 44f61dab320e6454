import type { Caller } from '../ledger/port.ts';
import type { Fault } from '../std/fault.ts';
import type { RequestMemory } from '../std/held-memory.ts';
import type { RequestId } from '../std/ids.ts';
import type { RequestRecord } from '../std/request-record.ts';
import type { BodyReader, BodyRule } from './request-body.ts';
import type { ErrorFormat } from './response.ts';

export type Method = 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH' | 'HEAD';

/** One thing that the server answers. All of them are in one list, and what they declare is kept by the gate. */
export interface HttpRoute {
  readonly method: Method;
  /** Literal segments; `*` matches one segment, a final `**` the rest, slashes included, up to a suffix such as `:count`. */
  readonly path: string;
  readonly door: Door;
  /** What its body may be. The gate reads it, within these bounds. */
  readonly body: BodyRule;
  /** When its answer must have begun, where its door's deadline is too late. */
  readonly withinMs?: number | undefined;
  handle(incoming: IncomingRequest): Promise<Response>;
  readonly errors: ErrorFormat;
}

/**
 * Which kind of route it is. `api`: the public API; it may be called from any origin, and has the deadlines of its
 * backends. `console`: the console's pages and their API. `signed`: events of other services. `probe`: for supervisors,
 * answered whatever else is under way.
 */
export type Door = 'api' | 'console' | 'signed' | 'probe';

/** One HTTP request, with what a handler needs to know about its connection. */
export interface IncomingRequest {
  readonly request: Request;
  readonly requestId: RequestId;
  /** What is known of the request so far, for its log lines. */
  readonly requestRecord: RequestRecord;
  /** Without the query, repeated slashes collapsed. */
  readonly path: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Whether it has left; asking does not make a signal. */
  readonly hasLeft: boolean;
  /** Aborted when the client leaves or the route's time is over. */
  readonly deadline: AbortSignal;
  /** Scheme and host as the client used them, for links. */
  readonly origin: string;
  /** The other end of the connection, which may be a proxy. */
  readonly peer: string;
  /** The client's own address, as reported by trusted proxies. */
  readonly address: string;
  /** Path parameters, in order. */
  readonly parameters: readonly string[];
  /** The body, within the bounds of the route. */
  readonly body: Pick<BodyReader, 'json' | 'form' | 'signed'>;
  /** Large bodies and loaded pictures count here until the request has its answer, or a stream has begun. */
  readonly memory: Pick<RequestMemory, 'hold' | 'keep'>;
  /** Says who sent it. What it takes from now on counts for this account. */
  identify(caller: Caller): void;
  /** Takes a request slot until this request has ended, or throws the fault that says why there is none. */
  takeSlot(): void;
  /** The fault of a path that leads nowhere, with a hint where the client may have wanted to go. */
  nothingHere(): Fault;
}

type RouteMatch =
  | { readonly kind: 'route'; readonly route: HttpRoute; readonly parameters: readonly string[] }
  | { readonly kind: 'wrong_method'; readonly routes: readonly HttpRoute[] }
  | { readonly kind: 'not_found' };

/** The form of errors below each of these paths, also where there is no route. */
type ErrorsByPath = readonly (readonly [beginning: string, errors: ErrorFormat])[];

/** Finds routes by path. Paths without parameters are one map lookup; the others are tried in order. */
export class Router {
  readonly routes: readonly HttpRoute[];
  readonly #errors: ErrorsByPath;
  readonly #exact = new Map<string, HttpRoute[]>();
  readonly #patterns: { readonly pattern: RegExp; readonly route: HttpRoute }[] = [];

  constructor(routes: readonly HttpRoute[], errors: ErrorsByPath = []) {
    this.routes = routes;
    this.#errors = errors;
    for (const route of routes) {
      if (route.path.includes('*')) this.#patterns.push({ pattern: patternOf(route.path), route });
      else this.#exact.set(route.path, [...(this.#exact.get(route.path) ?? []), route]);
    }
  }

  find(method: string, path: string): RouteMatch {
    const candidates = this.#candidates(path);
    if (candidates.length === 0) return { kind: 'not_found' };
    const hit = candidates.find(({ route }) => takes(route, method));
    if (hit) return { kind: 'route', ...hit };
    return { kind: 'wrong_method', routes: candidates.map(({ route }) => route) };
  }

  /** Where a request for a path that does not exist should probably have gone: its base URL has a `/v1` too many, or none. */
  likelyPath(method: string, path: string): string | undefined {
    const likely = path.includes('/v1/v1/') ? path.replace('/v1/v1/', '/v1/') : `/v1${path}`;
    return this.#candidates(likely).some(({ route }) => takes(route, method)) ? likely : undefined;
  }

  /** The form of errors at a path without a route: clients read no other. */
  errorsAt(path: string): ErrorFormat | undefined {
    return this.#errors.find(([beginning]) => path.startsWith(beginning))?.[1];
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

function takes(route: HttpRoute, method: string): boolean {
  return route.method === method || (method === 'HEAD' && route.method === 'GET');
}

/** The methods of some routes, as `Allow` lists them. */
export function methodsOf(routes: readonly HttpRoute[]): string[] {
  const methods = new Set<string>(routes.map(({ method }) => method));
  if (methods.has('GET')) methods.add('HEAD');
  if (routes.some(({ door }) => door === 'api')) methods.add('OPTIONS');
  return [...methods];
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
