import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { spendersOf } from './accounts.ts';
import type { Reader } from './reader.ts';
import { newestDays } from './request-days.ts';
import { chargesByDay } from './usage-sums.ts';

type DayParts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

const PAID_FOR = sql` AND u.requests > 0`;

/** What a wallet paid for requests on one day. */
export interface ChargedDay {
  readonly day: number;
  readonly requests: number;
  readonly charged: number;
  /** Its receipts were archived. */
  readonly archived: boolean;
}

/** Days are yyyymmdd, both inclusive. */
interface DaysAsked {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

/** The newest days of a range on which a wallet paid for requests, the newest first. */
export async function chargedDays(
  { db, reader }: DayParts,
  walletId: string,
  asked: DaysAsked,
): Promise<readonly ChargedDay[]> {
  const accounts = await spendersOf(db, walletId);
  const found = await reader.all(newestDays(db, { accounts, where: PAID_FOR, ...asked }));
  const [to, from] = [found[0]?.day, found.at(-1)?.day];
  if (to === undefined || from === undefined) return [];
  const [used, archived] = await Promise.all([
    Promise.all(accounts.map((accountId) => chargesByDay({ db, reader }, { accountId, from, to }))),
    reader.all(
      db
        .selectFrom('archived_day')
        .select('day')
        .where('account_id', 'in', accounts)
        .where('day', '>=', from)
        .where('day', '<=', to),
    ),
  ]);
  const days = Map.groupBy(used.flat(), ({ day }) => day);
  const gone = new Set(archived.map(({ day }) => day));
  return found.map(({ day }) => {
    const own = days.get(day) ?? [];
    const requests = own.reduce((sum, one) => sum + one.requests, 0);
    const charged = own.reduce((sum, one) => sum + one.charged, 0);
    return { day, requests, charged, archived: gone.has(day) };
  });
}

/** On how many of these days, at most `limit`, a wallet paid for requests. */
export async function countChargedDays(
  { db, reader }: DayParts,
  walletId: string,
  asked: DaysAsked,
): Promise<number> {
  const accounts = await spendersOf(db, walletId);
  return (await reader.all(newestDays(db, { accounts, where: PAID_FOR, ...asked }))).length;
}

/** What a wallet's requests of one day were for. */
export interface DayModels {
  readonly day: number;
  /** The one with the largest charge. */
  readonly model: string;
  readonly models: number;
}

/** What the requests of these days were for. */
export async function modelsOfDays(
  { db, reader }: DayParts,
  walletId: string,
  days: readonly number[],
): Promise<ReadonlyMap<number, DayModels>> {
  if (days.length === 0) return new Map();
  const spenders = await spendersOf(db, walletId);
  // Day after day: a window over all of them takes ten times as long where there are hundreds of models.
  const own = sql`usage_day u WHERE u.account_id IN (${sql.join(spenders)}) AND u.day = asked.day${PAID_FOR}`;
  const named = await reader.all(
    db
      .with(
        'asked(day)',
        () => sql<{ day: number }>`(VALUES ${sql.join(days.map((day) => sql`(${sql.lit(day)})`))})`,
      )
      .selectFrom('asked')
      .select([
        'day',
        // Both in one text, so that the day's rows are read once.
        sql<string | null>`(SELECT count(*) OVER () || ' ' || u.model FROM ${own}
          GROUP BY u.model ORDER BY sum(u.charged) DESC, u.model LIMIT 1)`.as('told'),
      ]),
  );
  return new Map(
    named.flatMap(({ day, told }) => {
      if (told === null) return [];
      const end = told.indexOf(' ');
      return [[day, { day, model: told.slice(end + 1), models: Number(told.slice(0, end)) }] as const];
    }),
  );
}
