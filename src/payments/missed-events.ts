import type { Clock } from '../std/clock.ts';
import type { Store } from '../store/store.ts';
import type { PaymentBooks } from './payment-books.ts';
import type { PaymentProvider } from './port.ts';

const KEY = 'payments.events';
/** Events may appear in the list later than others that were made after them. */
const OVERLAP_SECONDS = 3_600;
/** Before the first start nothing was asked for; the provider keeps events for thirty days. */
const FIRST_SECONDS = 86_400;
const MOST_KNOWN = 10_000;

export interface MissedEventsOptions {
  readonly store: Store;
  readonly provider: Pick<PaymentProvider, 'eventsSince'>;
  readonly books: Pick<PaymentBooks, 'apply'>;
  readonly clock: Clock;
}

/**
 * Fetches what was not delivered: from where the list was last read to its end, with an overlap, on the provider's clock. The
 * position moves only when all was booked, so an interruption means to read again, which changes nothing.
 */
export class MissedEvents {
  readonly #options: MissedEventsOptions;
  /** Booked by this process; it only saves work. */
  #known = new Set<string>();

  constructor(options: MissedEventsOptions) {
    this.#options = options;
  }

  /** Returns how many events were looked at. */
  async run(stopping?: AbortSignal): Promise<number> {
    const { provider, books } = this.#options;
    const position = await this.#position();
    let latest = position;
    let seen = 0;
    for await (const event of provider.eventsSince(position - OVERLAP_SECONDS)) {
      if (stopping?.aborted) return seen;
      latest = Math.max(latest, event.createdSeconds);
      if (this.#known.has(event.id)) continue;
      await books.apply(event);
      this.#remember(event.id);
      seen++;
    }
    if (latest > position) await this.#moveTo(latest);
    return seen;
  }

  async #position(): Promise<number> {
    const { store, clock } = this.#options;
    const row = await store.db
      .selectFrom('setting')
      .select('value')
      .where('key', '=', KEY)
      .executeTakeFirst();
    if (row) return Number(row.value);
    const first = Math.floor(clock.now() / 1000) - FIRST_SECONDS;
    await store.db
      .insertInto('setting')
      .values({ key: KEY, value: String(first), updated_at: clock.now() })
      .onConflict((conflict) => conflict.column('key').doNothing())
      .execute();
    return first;
  }

  /** Another node may be ahead. */
  async #moveTo(seconds: number): Promise<void> {
    const { store, clock } = this.#options;
    await store.db.transaction().execute(async (tx) => {
      const row = await tx.selectFrom('setting').select('value').where('key', '=', KEY).executeTakeFirst();
      if (row && Number(row.value) >= seconds) return;
      await tx
        .updateTable('setting')
        .set({ value: String(seconds), updated_at: clock.now() })
        .where('key', '=', KEY)
        .execute();
    });
  }

  #remember(id: string): void {
    if (this.#known.size >= MOST_KNOWN) this.#known = new Set();
    this.#known.add(id);
  }
}
