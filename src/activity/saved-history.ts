import { countQuery, numbered } from './counted-usage.ts';
import { CompiledQuery } from 'kysely';
import type { Store } from '../store/store.ts';

const TOGETHER = 100;

interface AccountDay {
  readonly account_id: string;
  readonly day: number;
}

/**
 * Takes over what cached input saved before settlements wrote it into `usage_day`, from `usage_saving`: a day of an account
 * at a time, so that nobody waits for it, and as often as one likes. Of the day of the update itself it is what either
 * version wrote of a model. It goes with that table.
 */
export class SavedHistory {
  readonly #store: Store;
  #after: AccountDay | undefined = { account_id: '', day: 0 };

  constructor(store: Store) {
    this.#store = store;
  }

  /** Of the days before this one. False: it took too long, and the rest is left to the next call. */
  async takeOver(open: number, isOver: () => boolean): Promise<boolean> {
    const query = countQuery(this.#store);
    while (this.#after) {
      const { account_id, day } = this.#after;
      const days: AccountDay[] = await query<AccountDay>(UNKNOWN, [open, account_id, day]);
      for (const one of days) {
        if (isOver()) return false;
        await this.#write(one);
        this.#after = one;
      }
      if (days.length < TOGETHER) this.#after = undefined;
    }
    return true;
  }

  async #write({ account_id, day }: AccountDay): Promise<void> {
    const { db, backend } = this.#store;
    const text = backend.kind === 'sqlite' ? WRITE : numbered(WRITE);
    await db.executeQuery(CompiledQuery.raw(text, [account_id, day]));
  }
}

const IS_SAME = `s.account_id = u.account_id AND s.day = u.day AND s.endpoint = u.endpoint AND s.model = u.model`;
const UNKNOWN = `SELECT s.account_id, s.day FROM usage_saving s JOIN usage_day u ON ${IS_SAME}
  WHERE s.saved <> 0 AND u.saved = 0 AND s.day < ? AND (s.account_id, s.day) > (?, ?)
  GROUP BY s.account_id, s.day ORDER BY s.account_id, s.day LIMIT ${TOGETHER}`;
const SAVED = `SELECT s.saved FROM usage_saving s WHERE ${IS_SAME} AND s.saved <> 0`;
const WRITE = `UPDATE usage_day AS u SET saved = (${SAVED})
  WHERE u.account_id = ? AND u.day = ? AND u.saved = 0 AND EXISTS (${SAVED})`;
