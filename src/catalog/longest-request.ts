import type { Catalog, CatalogSource } from './catalog.ts';

/**
 * How long a request may live by the deadlines of the backends that it may be sent to: each is given the time until its
 * first byte and the whole of a call, and one that is alone is tried twice. An upper bound; no request needs all of it.
 */
export function longestRequestMs({ endpoints, upstreams }: Pick<Catalog, 'endpoints' | 'upstreams'>): number {
  let longest = 0;
  for (const { places } of endpoints.values()) {
    const calls = places.flat().map(({ upstream }) => {
      const timeouts = upstreams.get(upstream)?.timeouts;
      return timeouts ? timeouts.firstByteMs + timeouts.totalMs : 0;
    });
    const once = calls.reduce((sum, ms) => sum + ms, 0);
    longest = Math.max(longest, calls.length === 1 ? 2 * once : once);
  }
  return longest;
}

/**
 * The longest that a request may live by any catalog since the start: a running request keeps the deadlines that it
 * began with, even when a newer catalog has shorter ones.
 */
export class LongestLife {
  #longestMs: number;

  constructor(catalog: Pick<CatalogSource, 'current' | 'onChange'>) {
    this.#longestMs = longestRequestMs(catalog.current());
    catalog.onChange((next) => {
      this.#longestMs = Math.max(this.#longestMs, longestRequestMs(next));
    });
  }

  longestMs(): number {
    return this.#longestMs;
  }
}
