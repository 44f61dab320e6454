import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { MOST_SPANS, spansWithout, type UsageSpan } from './ten-days.ts';
import { ALL_ACCOUNTS, COST_COLUMNS, USAGE_COLUMNS, type UsageSums } from './usage.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

/** What all accounts used, brought and cost on a day, in nano-USD. */
export interface DayTotal extends UsageSums {
  readonly day: number;
  readonly cost: number;
  readonly possible_cost: number;
  /** What was charged for requests whose cost is known. */
  readonly costed: number;
}

const SUMMED = [...USAGE_COLUMNS, ...COST_COLUMNS] as const;

/** The days with requests, in order. Summed by the database, where they are not yet: there may be thousands of models each day. */
export async function dayTotals(parts: Parts, range: UsageSpan): Promise<DayTotal[]> {
  const added = await addedDays(parts, range);
  const done = new Set(added.map(({ day }) => day));
  const left = spansWithout(range, (day) => done.has(day));
  if (left.length > MOST_SPANS) return await summedDays(parts, [range]);
  return [...added, ...(await summedDays(parts, left))].toSorted((a, b) => a.day - b.day);
}

function addedDays({ db, reader }: Parts, { from, to }: UsageSpan): Promise<DayTotal[]> {
  return reader.all(
    db
      .selectFrom('usage_total')
      .select(['day', ...SUMMED])
      .where('account_id', '=', ALL_ACCOUNTS)
      .where('endpoint', '=', '')
      .where('day', '>=', from)
      .where('day', '<=', to)
      .orderBy('day'),
  );
}

function summedDays({ db, reader }: Parts, spans: readonly UsageSpan[]): Promise<DayTotal[]> {
  const [first, ...others] = spans.map(({ from, to }) =>
    db
      .selectFrom('usage_day')
      .select('day')
      .select(SUMMED.map((column) => sql<number>`CAST(sum(${sql.ref(column)}) AS BIGINT)`.as(column)))
      .where('account_id', '=', ALL_ACCOUNTS)
      .where('day', '>=', from)
      .where('day', '<=', to)
      .groupBy('day'),
  );
  if (!first) return Promise.resolve([]);
  return reader.all(others.reduce((all, one) => all.unionAll(one), first).orderBy('day'));
}
