import { sql, type Kysely, type RawBuilder, type Selectable } from 'kysely';
import { DAY_MS, dayOf, dayStart } from '../std/calendar.ts';
import type { EntryKind, EntryTable, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { chargedDays, countChargedDays, type ChargedDay } from './charged-days.ts';
import { LAST_DAY } from './request-days.ts';
import {
  anyContains,
  countRows,
  emailIn,
  equals,
  NEWEST_FIRST,
  numberColumn,
  tablePage,
  type ListedTable,
  type RowCount,
  type TableFilter,
  type TablePage,
  type TablePageRequest,
} from './table-page.ts';
import { ALL_ACCOUNTS } from './usage.ts';

export interface StatementFilter {
  /** A person or a team. Absent: all accounts, whose charges of a day are one line. */
  readonly accountId?: string | undefined;
  /** `money` is everything but charges. */
  readonly kind?: EntryKind | 'money' | undefined;
  /** UTC days, yyyymmdd, both inclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Finds entries; the lines of charges have no text. */
  readonly search?: StatementSearch | undefined;
}

interface StatementSearch {
  /** Part of the reason or of a request's id; or the number of an entry. */
  readonly text: string;
  /** Operators also search for who booked it, and for whom. */
  readonly isOperator: boolean;
}

/** One change of a balance: an entry, or what the requests of one day were charged. */
export interface StatementLine extends Omit<Selectable<EntryTable>, 'id' | 'once'> {
  readonly id: string;
  /** The day, on a line of charges. */
  readonly charges?: ChargedDay;
}

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/** What changed balances, newest first. A day's charges stand at its end, before the entries of that moment. */
export async function statementPage(
  parts: Parts,
  filter: StatementFilter,
  page: Omit<TablePageRequest, 'order'>,
): Promise<TablePage<StatementLine>> {
  const order = { ...page, order: NEWEST_FIRST };
  const entries = await tablePage<StatementLine>(parts, ENTRY_TABLE, entryFilter(filter), order);
  const days = await dayLines(parts, filter, page, Number(entries.next?.values[0] ?? 0));
  // The sort is stable: entries have their order, and at one moment days come first.
  const found = [...days, ...entries.rows].toSorted((a, b) => b.created_at - a.created_at);
  const rows = found.slice(0, page.limit);
  const last = rows.at(-1);
  return found.length > rows.length && last
    ? { rows, next: cursorAt(last.created_at, last.id), searchedTo: undefined }
    : { ...entries, rows };
}

/** After a line; every entry of a day's last moment comes after the day's charges, which have no number. */
export function cursorAt(at: number, id: string): NonNullable<TablePageRequest['after']> {
  return { values: [at, Number(id) || Number.MAX_SAFE_INTEGER], since: undefined };
}

/** More days than anybody looks through. */
const MOST_DAYS = 4_000;

/** How many lines there are: entries, and a day of charges as one. */
export async function countLines(parts: Parts, filter: StatementFilter): Promise<RowCount> {
  const { accountId = ALL_ACCOUNTS, from = 0, to = LAST_DAY } = filter;
  const [entries, days] = await Promise.all([
    countRows(parts, ENTRY_TABLE, entryFilter(filter)),
    hasDays(filter) ? countChargedDays(parts, accountId, { from, to, limit: MOST_DAYS + 1 }) : 0,
  ]);
  return { rows: entries.rows + days, more: entries.more || days > MOST_DAYS };
}

/** What changes balances, but for charges. */
const ENTRY_TABLE: ListedTable = {
  from: sql`entry AS t`,
  columns: sql`CAST(t.id AS TEXT) AS id, t.account_id, t.kind, t.amount, t.request_id, t.cause, t.actor, t.created_at`,
  time: sql`t.created_at`,
  mark: [numberColumn(sql`t.created_at`), numberColumn(sql`t.id`)],
  sorted: {},
};

function entryFilter({ accountId, kind, from, to, search }: StatementFilter): TableFilter {
  return {
    where: [
      ...equals('t.account_id', accountId),
      // A charge stands for receipts that were archived; the sums of the days have them already.
      kind === 'charge' ? sql<boolean>`1 = 0` : sql<boolean>`t.kind <> 'charge'`,
      ...equals('t.kind', kind === 'money' ? undefined : kind),
      ...(from === undefined ? [] : [sql<boolean>`t.created_at >= ${dayStart(from)}`]),
      ...(to === undefined ? [] : [sql<boolean>`t.created_at < ${dayStart(to) + DAY_MS}`]),
    ],
    checks: search ? [entrySearch(search)] : [],
  };
}

function entrySearch({ text, isOperator }: StatementSearch): RawBuilder<boolean> {
  const operator = [sql`t.actor`, sql`t.account_id`, emailIn('t.actor'), emailIn('t.account_id')];
  const found = anyContains(text, [sql`t.cause`, ...(isOperator ? operator : [])], [sql`t.request_id`]);
  // The number of an entry is looked for as a whole: nearly every number has a 1 in it.
  return sql<boolean>`(${found} OR CAST(t.id AS TEXT) = ${text})`;
}

function hasDays({ kind = 'charge', search }: StatementFilter): boolean {
  return kind === 'charge' && !search;
}

/** The days of a page whose oldest entry is of this moment. */
async function dayLines(
  parts: Parts,
  filter: StatementFilter,
  { after, limit }: Pick<TablePageRequest, 'after' | 'limit'>,
  oldest: number,
): Promise<StatementLine[]> {
  if (!hasDays(filter)) return [];
  const { accountId = ALL_ACCOUNTS, from = 0, to = LAST_DAY } = filter;
  const days = await chargedDays(parts, accountId, {
    from: Math.max(from, dayOf(oldest)),
    to: Math.min(to, after ? dayOf(Number(after.values[0]) - DAY_MS) : LAST_DAY),
    limit: limit + 1,
  });
  return days.map((charges) => ({
    id: `day-${charges.day}`,
    account_id: accountId,
    kind: 'charge',
    amount: 0 - charges.charged,
    request_id: null,
    cause: '',
    actor: '',
    created_at: dayStart(charges.day) + DAY_MS - 1,
    charges,
  }));
}
