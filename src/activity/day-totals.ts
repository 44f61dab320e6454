import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { ALL_ACCOUNTS, type UsageSums } from './usage.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };
interface DaySpan {
  /** yyyymmdd, both inclusive. */
  readonly from: number;
  readonly to: number;
}

/** What all accounts used, brought and cost on a day, in nano-USD. */
export interface DayTotal extends UsageSums {
  readonly day: number;
  readonly cost: number;
  readonly possible_cost: number;
  /** What was charged for requests whose cost is known. */
  readonly costed: number;
}

const SUMMED = [
  'requests', 'failures', 'input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens', 'images', 'charged',
  'cost', 'possible_cost', 'costed',
] as const; // prettier-ignore

/** The days with requests, in order. Summed by the database: there may be thousands of models each day. */
export function dayTotals({ db, reader }: Parts, { from, to }: DaySpan): Promise<DayTotal[]> {
  return reader.all(
    db
      .selectFrom('usage_day')
      .select('day')
      .select(SUMMED.map((column) => sql<number>`CAST(sum(${sql.ref(column)}) AS BIGINT)`.as(column)))
      .where('account_id', '=', ALL_ACCOUNTS)
      .where('day', '>=', from)
      .where('day', '<=', to)
      .groupBy('day')
      .orderBy('day'),
  );
}
