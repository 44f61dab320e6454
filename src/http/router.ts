import type { Exchange } from './caller.ts';
import type { FaultShape } from './respond.ts';

export type Method = 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH' | 'HEAD';

export interface HttpRoute {
  readonly method: Method;
  /** Segments by name; `*` is one segment, a last `**` is the rest with its slashes. */
  readonly path: string;
  handle(exchange: Exchange): Promise<Response>;
  /** How errors are worded here; the public API's way where absent. */
  readonly faults?: FaultShape;
}

export type Found =
  | { readonly kind: 'route'; readonly route: HttpRoute; readonly parameters: readonly string[] }
  | { readonly kind: 'wrong method'; readonly allowed: readonly string[] }
  | { readonly kind: 'nothing' };

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

  find(method: string, path: string): Found {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const candidates = this.#candidates(path);
    if (candidates.length === 0) return { kind: 'nothing' };
    const hit = candidates.find(({ route }) => route.method === wanted || route.method === method);
    if (hit) return { kind: 'route', ...hit };
    return { kind: 'wrong method', allowed: [...new Set(candidates.map(({ route }) => route.method))] };
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

/** The path of a request: query cut off, `//` collapsed, so that clients with a slash too many are at home. */
export function pathOf(url: string): string {
  // Without a usable Host header the URL is the path alone.
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
      segment === '**' ? '(.+)' : segment === '*' ? '([^/]+)' : segment.replace(/[.+?^${}()|[\]\\]/g, '\\$&'),
    )
    .join('/');
  return new RegExp(`^${source}$`);
}

function decodeSegment(segment: string): string {
  try {
    const decoded = decodeURIComponent(segment);
    // No name of ours has a NUL, and Postgres refuses to look for one.
    return decoded.includes('\0') ? segment : decoded;
  } catch {
    // A stray % is taken as it stands; nothing of ours has one.
    return segment;
  }
}
