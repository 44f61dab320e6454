import type { CatalogSource } from '../catalog/catalog.ts';
import { longestRequestMs } from '../catalog/longest-request.ts';

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
