import { sql, type Kysely, type Selectable } from 'kysely';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import type { Schema, UsageDayTable } from '../store/schema.ts';
import type { Reader } from './reader.ts';

/** Daily sums, written with each settlement; nothing here reads the request table. */
export type UsageDay = Selectable<UsageDayTable>;

/** The account id under which the sums over all accounts are stored. */
export const ALL_ACCOUNTS = '';
const MAX_USAGE_ROWS = 20_000;

/** Days are yyyymmdd, both inclusive, UTC; in order of day. One row more than the limit means that there are more. */
export function usageRows(
  { db, reader }: { db: Kysely<Schema>; reader: Reader },
  accountId: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<UsageDay[]> {
  return reader.all(
    db
      .selectFrom('usage_day')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('day', '>=', from)
      .where('day', '<=', to)
      .orderBy('day')
      .orderBy('endpoint')
      .orderBy('model')
      .limit(MAX_USAGE_ROWS + 1),
  );
}

/** The usage of several accounts together. */
export async function usageOfAccounts(
  { db, reader }: { db: Kysely<Schema>; reader: Pick<Reader, 'all'> },
  accountIds: readonly string[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<{ readonly requests: number; readonly charged: number }> {
  const [sums] = await reader.all(
    db
      .selectFrom('usage_day')
      .select([
        sql<number>`CAST(coalesce(sum(requests), 0) AS BIGINT)`.as('requests'),
        sql<number>`CAST(coalesce(sum(charged), 0) AS BIGINT)`.as('charged'),
      ])
      .where('account_id', 'in', accountIds)
      .where('day', '>=', from)
      .where('day', '<=', to),
  );
  return sums ?? { requests: 0, charged: 0 };
}

/** The columns of every table of usage, as SQL adds them up. */
export const USAGE_COLUMNS = [
  'requests',
  'failures',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'images',
  'charged',
  'saved',
] as const;

export type UsageSums = Pick<UsageDay, (typeof USAGE_COLUMNS)[number]>;

export function sumUsage(rows: readonly UsageSums[]): UsageSums {
  const total = {
    requests: 0,
    failures: 0,
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    images: 0,
    charged: 0,
    saved: 0,
  };
  for (const row of rows) for (const name of USAGE_COLUMNS) total[name] += row[name];
  return total;
}

/** What was charged today, in the last 7 and in the last 30 days (today included), from rows of those days. */
export function spendOf(
  rows: readonly Pick<UsageDay, 'day' | 'charged'>[],
  now: number,
): { today: number; days7: number; days30: number } {
  const since = (days: number): number => {
    const first = dayOf(now - (days - 1) * DAY_MS);
    return rows.reduce((sum, row) => (row.day >= first ? sum + row.charged : sum), 0);
  };
  return { today: since(1), days7: since(7), days30: since(30) };
}

/** The same for the day before, and for the 7 and the 30 days before those, from rows of twice as many days. */
export function spendBefore(
  rows: readonly Pick<UsageDay, 'day' | 'charged'>[],
  now: number,
): ReturnType<typeof spendOf> {
  const before = (days: number): number => {
    const first = dayOf(now - (2 * days - 1) * DAY_MS);
    const next = dayOf(now - (days - 1) * DAY_MS);
    return rows.reduce((sum, { day, charged }) => (day >= first && day < next ? sum + charged : sum), 0);
  };
  return { today: before(1), days7: before(7), days30: before(30) };
}
