import { sql, type Kysely } from 'kysely';
import { DAY_MS, dayOf, dayStart, startOfDay } from '../std/calendar.ts';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

import type { UsageOfDay } from './usage-sums.ts';

export type Spent = Pick<UsageOfDay, 'day' | 'charged'>;

interface BalanceOfDay {
  /** yyyymmdd, UTC. */
  readonly day: number;
  /** At its end; of today: now. */
  readonly balance: number;
}

/**
 * The balance of the last days, reckoned back from the present one: what was charged by then is added, what came in is
 * taken away. Charges count on the day of their admission, as in all sums by day.
 */
export async function balanceDays(
  { db, reader }: { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> },
  account: { readonly id: string; readonly balance: number; readonly created_at: number },
  spent: readonly Spent[],
  { now, days }: { readonly now: number; readonly days: number },
): Promise<BalanceOfDay[]> {
  const today = Math.floor(now / DAY_MS);
  const first = Math.max(today - days + 1, Math.floor(account.created_at / DAY_MS));
  const entries = await reader.all(
    db
      .selectFrom('entry')
      .select([
        sql<number>`created_at / 86400000`.as('day'),
        sql<number>`CAST(sum(amount) AS BIGINT)`.as('amount'),
      ])
      .where('account_id', '=', account.id)
      // A charge stands for receipts that were archived; the sums by day have them already.
      .where('kind', '<>', 'charge')
      .where('created_at', '>=', first * DAY_MS)
      .groupBy(sql`created_at / 86400000`),
  );
  const cameIn = new Map(entries.map(({ day, amount }) => [day, amount]));
  const charged = new Map(spent.map((one) => [one.day, one.charged]));
  const found: BalanceOfDay[] = [];
  let { balance } = account;
  for (let day = today; day >= first; day--) {
    const date = dayOf(day * DAY_MS);
    found.push({ day: date, balance: Math.max(0, balance) });
    balance += (charged.get(date) ?? 0) - (cameIn.get(day) ?? 0);
  }
  return found.toReversed();
}

type BalanceForecast =
  | { readonly kind: 'until'; readonly at: number }
  /** At this pace for more than a year: no date would be worth believing. */
  | { readonly kind: 'long' }
  | { readonly kind: 'no_spending' }
  /** It has been used for less than a day. */
  | { readonly kind: 'too_early' }
  | { readonly kind: 'empty' };

const PACE_DAYS = 7;
const LONG_DAYS = 365;

/** How long a balance lasts at the pace of the last week, today included as far as it has passed. */
export function balanceForecast(available: number, spent: readonly Spent[], now: number): BalanceForecast {
  if (available <= 0) return { kind: 'empty' };
  const start = startOfDay(now) - PACE_DAYS * DAY_MS;
  const paid = spent.filter(({ charged }) => charged > 0);
  const lately = paid.filter(({ day }) => day >= dayOf(start));
  const sum = lately.reduce((total, { charged }) => total + charged, 0);
  if (sum === 0) return { kind: 'no_spending' };
  const isNew = paid.every(({ day }) => day >= dayOf(start));
  const from = isNew ? dayStart(Math.min(...lately.map(({ day }) => day))) : start;
  if (now - from < DAY_MS) return { kind: 'too_early' };
  const lastsMs = (available / sum) * (now - from);
  return lastsMs > LONG_DAYS * DAY_MS ? { kind: 'long' } : { kind: 'until', at: Math.round(now + lastsMs) };
}
