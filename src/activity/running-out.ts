import { DISPLAY_NAME } from './accounts.ts';
import { sql, type Kysely } from 'kysely';
import { DAY_MS, dayOf, monthOf } from '../std/calendar.ts';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

/** A customer whose balance is used up, or will be within a day at the pace of the last week. Nano-USD. */
export interface RunningOut {
  readonly id: string;
  readonly email: string;
  readonly balance: number;
  readonly perDay: number;
}

/** Of the accounts that spent this month or the last, those that come to their end first are looked at more closely. */
const CANDIDATES = 200;
const PACE_DAYS = 7;

export async function runningOut(
  { db, reader }: { readonly db: Kysely<Schema>; readonly reader: Reader },
  now: number,
): Promise<RunningOut[]> {
  const [month, lastMonth] = [monthOf(now), monthOf(now - new Date(now).getUTCDate() * DAY_MS)];
  const daysOfMonth = new Date(now).getUTCDate();
  let candidates = db
    .selectFrom('account')
    .select(['id', DISPLAY_NAME.as('email'), 'balance', 'created_at'])
    .where('wallet_id', 'is', null)
    .where('status', '=', 'active')
    .where('role', '!=', 'system')
    .where('month', '>=', lastMonth)
    .where('month_spent', '>', 0)
    .orderBy(sql`balance - month_spent / CASE WHEN month = ${month} THEN ${daysOfMonth} ELSE 30 END`)
    .limit(CANDIDATES);
  // The week is within the month: whoever has more than a seventh of what the month has cost lasts a day.
  if (daysOfMonth >= PACE_DAYS)
    candidates = candidates
      .where('month', '=', month)
      .where((is) =>
        is.or([
          sql<boolean>`balance * ${PACE_DAYS} < month_spent + ${PACE_DAYS}`,
          is('created_at', '>', now - PACE_DAYS * DAY_MS),
        ]),
      );
  const accounts = await reader.all(candidates);
  if (accounts.length === 0) return [];
  const spent = await spentByAccount(
    { db, reader },
    accounts.map(({ id }) => id),
    dayOf(now - (PACE_DAYS - 1) * DAY_MS),
  );
  return accounts
    .map(({ id, email, balance, created_at }) => {
      const days = Math.min(PACE_DAYS, Math.max(1, (now - created_at) / DAY_MS));
      return { id, email, balance, perDay: Math.round((spent.get(id) ?? 0) / days) };
    })
    .filter(({ balance, perDay }) => perDay > 0 && balance < perDay)
    .toSorted((a, b) => b.perDay - a.perDay);
}

async function spentByAccount(
  { db, reader }: { readonly db: Kysely<Schema>; readonly reader: Reader },
  ids: readonly string[],
  from: number,
): Promise<Map<string, number>> {
  const rows = await reader.all(
    db
      .selectFrom('usage_day')
      .select(['account_id', sql<number>`CAST(sum(charged) AS BIGINT)`.as('spent')])
      .where('account_id', 'in', [...ids])
      .where('day', '>=', from)
      .groupBy('account_id'),
  );
  return new Map(rows.map(({ account_id, spent }) => [account_id, spent]));
}
