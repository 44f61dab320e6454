import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Catalog, CatalogStatus } from './catalog.ts';

/** The catalog in force and who wants to know when another one is. Both sources, the file and the store, keep theirs here. */
export class LiveCatalog {
  readonly #place: { readonly kind: CatalogStatus['kind']; readonly path: string | undefined };
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #listeners = new Set<(catalog: Catalog) => void>();
  #catalog: Catalog;
  #loadedAt: number;
  #error: string | undefined;

  constructor(
    first: Catalog,
    parts: { kind: CatalogStatus['kind']; path: string | undefined; log: Log; clock: Clock },
  ) {
    this.#place = { kind: parts.kind, path: parts.path };
    this.#log = parts.log;
    this.#clock = parts.clock;
    this.#catalog = first;
    this.#loadedAt = parts.clock.now();
  }

  current(): Catalog {
    return this.#catalog;
  }

  onChange(listener: (catalog: Catalog) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  status(): CatalogStatus {
    return { ...this.#place, loadedAt: this.#loadedAt, error: this.#error };
  }

  replace(next: Catalog): void {
    const source = this.#place.path ?? this.#place.kind;
    if (this.#error !== undefined) this.#log.info('catalog_recovered', { source });
    this.#error = undefined;
    this.#loadedAt = this.#clock.now();
    if (next.version === this.#catalog.version) return;
    this.#catalog = next;
    this.#log.info('catalog_loaded', { version: next.version, source });
    for (const listener of this.#listeners) this.#tell(listener, next);
  }

  /** The newest content cannot be used: the catalog before it stays in force. */
  refuse(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason === this.#error) return;
    this.#error = reason;
    this.#log.warn('catalog_refused', { source: this.#place.path ?? this.#place.kind, reason });
  }

  /** One listener's failure must not keep the others on the old prices. */
  #tell(listener: (catalog: Catalog) => void, catalog: Catalog): void {
    try {
      listener(catalog);
    } catch (error) {
      this.#log.error('catalog_listener_failed', { error });
    }
  }
}
