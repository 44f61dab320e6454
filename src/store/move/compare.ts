import type { Database } from 'bun:sqlite';
import type { Client } from 'pg';
import { countOf, inTransaction } from './copy.ts';
import { MOVED } from './tables.ts';

/** The differences between the two sides, in a bounded number of sentences. */
export class Differences {
  readonly named: string[] = [];
  count = 0;
  /** How many counts and sums were compared. */
  compared = 0;

  add(sentence: string): void {
    this.count++;
    if (this.named.length < MOST_NAMED) this.named.push(sentence);
  }
}

const MOST_NAMED = 20;

/** Compares both databases: how many rows each table has, every balance, and sums of money by account and day. */
export async function compareSides(source: Database, target: Client): Promise<Differences> {
  const differences = new Differences();
  for (const { name, only = 'TRUE' } of MOVED) {
    const ours = countOf(source, name, only);
    const { rows } = await target.query<{ count: number }>(
      `SELECT count(*) AS count FROM "${name}" WHERE ${only}`,
    );
    const theirs = rows[0]?.count ?? 0;
    if (ours !== theirs) differences.add(`${name}: ${ours} rows in SQLite, ${theirs} in Postgres`);
    differences.compared++;
  }
  for (const sums of SUMS) await compareSums(sums, { source, target, differences });
  return differences;
}

interface Sums {
  readonly name: string;
  /** A text that the rows are sorted by, with the digits of a number all of one length. */
  readonly key: string;
  readonly values: readonly string[];
  readonly from: string;
}

/** The days of receipts are numbered from 1970, those of sums are written as yyyymmdd. */
const SUMS: readonly Sums[] = [
  {
    name: 'account',
    key: 'id',
    values: ['balance', 'held', 'open_holds', 'owed', 'month_spent'].map((column) => `max(${column})`),
    from: 'account',
  },
  { name: 'holds of', key: 'account_id', values: ['count(*)', 'sum(held)'], from: 'hold' },
  { name: 'entries of', key: 'account_id', values: ['count(*)', 'sum(amount)'], from: 'entry' },
  { name: 'debts of', key: 'account_id', values: ['count(*)', 'sum(owed)'], from: 'debt' },
  {
    name: 'receipts of',
    key: `account_id || ' day ' || (created_at / 86400000)`,
    values: ['count(*)', 'sum(charged)', 'sum(cost)', 'sum(possible_cost)', 'sum(overrun)'],
    from: 'receipt',
  },
  {
    name: 'archived receipts of',
    key: 'account_id',
    values: ['sum(requests)', 'sum(charged)', 'sum(overrun)'],
    from: 'archived_day',
  },
  {
    name: 'usage of',
    key: `account_id || ' day ' || day`,
    values: ['sum(requests)', 'sum(charged)', 'sum(cost)'],
    from: 'usage_day',
  },
  {
    name: 'costs of day',
    key: 'day',
    values: ['sum(requests)', 'sum(charged)', 'sum(cost)', 'sum(possible_cost)'],
    from: 'backend_day',
  },
];

interface SumRow {
  readonly key: string;
  readonly sums: string;
}

interface Compared {
  readonly source: Database;
  readonly target: Client;
  readonly differences: Differences;
}

/** Walks through both lists at once, since there may be as many rows as accounts times days. */
async function compareSums(sums: Sums, { source, target, differences }: Compared): Promise<void> {
  const statement = source.prepare<SumRow, []>(queryOf(sums, 'BINARY'));
  try {
    await inTransaction(target, async () => {
      await target.query(`DECLARE sums NO SCROLL CURSOR FOR ${queryOf(sums, '"C"')}`);
      const ours = statement.iterate();
      const theirs = fetched(target);
      let here = ours.next().value;
      let there = (await theirs.next()).value;
      while (here || there) {
        const order = orderOf(here, there);
        if (order !== 0 || here?.sums !== there?.sums)
          differences.add(
            `${sums.name} ${(order <= 0 ? here : there)?.key}: ${order <= 0 ? here?.sums : 'nothing'} in SQLite, ${order >= 0 ? there?.sums : 'nothing'} in Postgres`,
          );
        differences.compared++;
        if (order <= 0) here = ours.next().value;
        if (order >= 0) there = (await theirs.next()).value;
      }
    });
  } finally {
    statement.finalize();
  }
}

/** Sums as texts: they may be too large for a number. */
function queryOf({ key, values, from }: Sums, byteOrder: string): string {
  const sums = values.map((value) => `COALESCE(CAST(${value} AS TEXT), 'none')`).join(` || ', ' || `);
  return `SELECT key, sums FROM (SELECT CAST(${key} AS TEXT) AS key, ${sums} AS sums FROM ${from} GROUP BY 1) AS grouped
    ORDER BY key COLLATE ${byteOrder}`;
}

/** Negative: the first has a row that the second has not. */
function orderOf(here: SumRow | undefined, there: SumRow | undefined): number {
  if (here === undefined || there === undefined) return here === undefined ? 1 : -1;
  if (here.key === there.key) return 0;
  return here.key < there.key ? -1 : 1;
}

const FETCHED_TOGETHER = 5_000;

async function* fetched(target: Client): AsyncGenerator<SumRow, undefined> {
  for (;;) {
    const { rows } = await target.query<SumRow>(`FETCH ${FETCHED_TOGETHER} FROM sums`);
    yield* rows;
    if (rows.length < FETCHED_TOGETHER) return undefined;
  }
}
