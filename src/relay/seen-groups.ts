import type { Catalog } from '../catalog/catalog.ts';
import { callerKey } from '../ledger/decide.ts';
import type { Caller } from '../ledger/port.ts';

const MOST_CALLERS = 20_000;

/**
 * The price groups that callers' wallets were last seen in, so that a request is quoted at their price at once. It is a guess
 * and decides nothing: the ledger refuses a price of another group, and then the request is quoted again. Empty, and never
 * looked into, while nobody is in a group.
 */
export class SeenGroups {
  readonly known = new Map<string, string>();
  readonly #viewOf: (catalog: Catalog, group: string) => Catalog;

  constructor(viewOf: (catalog: Catalog, group: string) => Catalog) {
    this.#viewOf = viewOf;
  }

  /** The catalog as the caller's wallet was last seen to see it. */
  view(catalog: Catalog, caller: Caller): Catalog {
    const group = this.of(caller);
    return group === undefined ? catalog : this.#viewOf(catalog, group);
  }

  of(caller: Caller): string | undefined {
    return this.known.get(callerKey(caller));
  }

  saw(caller: Caller, group: string | undefined): void {
    if (group === undefined && this.known.size === 0) return;
    const key = callerKey(caller);
    this.known.delete(key);
    if (group === undefined) return;
    const [oldest] = this.known.size >= MOST_CALLERS ? this.known.keys() : [];
    if (oldest !== undefined) this.known.delete(oldest);
    this.known.set(key, group);
  }
}
