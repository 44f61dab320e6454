import { sql, type Kysely, type RawBuilder, type Selectable } from 'kysely';
import { spanOf } from '../ledger/archive.ts';
import { DAY_MS, dayOf } from '../std/calendar.ts';
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

/** Where a page ends. */
export interface StatementCursor {
  readonly at: number;
  readonly id: string;
}

interface PageRequest {
  readonly before?: StatementCursor | undefined;
  readonly limit: number;
  /** How long a search looks at entries before it returns what was found. */
  readonly maxSearchMs?: number | undefined;
}

interface StatementPage {
  readonly lines: readonly StatementLine[];
  readonly next: StatementCursor | undefined;
  /** How far a search has looked, if not through everything. */
  readonly searchedTo: number | undefined;
}

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/** What changed balances, newest first. A day's charges stand at its end, before the entries of that moment. */
export async function statementPage(
  parts: Parts,
  filter: StatementFilter,
  { before, limit, maxSearchMs }: PageRequest,
): Promise<StatementPage> {
  const page = await entryPage(parts, filter, { before, limit, maxSearchMs });
  const [at, id] = page.next?.values ?? [];
  const days = await dayLines(parts, filter, { before, limit: limit + 1 }, Number(at ?? 0));
  const entries = page.rows.map((row): StatementLine => Object.assign(row, { id: String(row.id) }));
  // The sort is stable: entries have their order, and at one moment days come first.
  const found = [...days, ...entries].toSorted((a, b) => b.created_at - a.created_at);
  const lines = found.slice(0, limit);
  const last = lines.at(-1);
  if (found.length > limit && last)
    return { lines, next: { at: last.created_at, id: last.id }, searchedTo: undefined };
  return { lines, next: page.next && { at: Number(at), id: String(id) }, searchedTo: page.searchedTo };
}

/** More days than anybody looks through. */
const MOST_DAYS = 4_000;

/** How many lines there are: entries, and a day of charges as one. */
export async function countLines(parts: Parts, filter: StatementFilter): Promise<RowCount> {
  const { accountId = ALL_ACCOUNTS, from = 0, to = LAST_DAY } = filter;
  const [entries, days] = await Promise.all([
    filter.kind === 'charge' ? { rows: 0, more: false } : countRows(parts, ENTRY_TABLE, entryFilter(filter)),
    hasDays(filter) ? countChargedDays(parts, accountId, { from, to, limit: MOST_DAYS + 1 }) : 0,
  ]);
  return { rows: entries.rows + days, more: entries.more || days > MOST_DAYS };
}

type EntryRow = Omit<Selectable<EntryTable>, 'once'>;

async function entryPage(
  parts: Parts,
  filter: StatementFilter,
  { before, ...page }: PageRequest,
): Promise<TablePage<EntryRow>> {
  if (filter.kind === 'charge') return { rows: [], next: undefined, searchedTo: undefined };
  const values = before && [before.at, isDay(before) ? Number.MAX_SAFE_INTEGER : Number(before.id)];
  return await tablePage<EntryRow>(parts, ENTRY_TABLE, entryFilter(filter), {
    order: NEWEST_FIRST,
    after: values && { values, since: undefined },
    ...page,
  });
}

/** What changes balances, but for charges. */
const ENTRY_TABLE: ListedTable = {
  from: sql`entry AS t`,
  columns: sql`t.id, t.account_id, t.kind, t.amount, t.request_id, t.cause, t.actor, t.created_at`,
  time: sql`t.created_at`,
  mark: [numberColumn(sql`t.created_at`), numberColumn(sql`t.id`)],
  sorted: {},
};

function entryFilter({ accountId, kind, from, to, search }: StatementFilter): TableFilter {
  return {
    where: [
      ...equals('t.account_id', accountId),
      // A charge stands for receipts that were archived; the sums of the days have them already.
      sql<boolean>`t.kind <> 'charge'`,
      ...equals('t.kind', kind === 'money' ? undefined : kind),
      ...(from === undefined ? [] : [sql<boolean>`t.created_at >= ${spanOf(from).fromMs}`]),
      ...(to === undefined ? [] : [sql<boolean>`t.created_at < ${spanOf(to).toMs}`]),
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
  { before, limit }: PageRequest,
  oldest: number,
): Promise<StatementLine[]> {
  if (!hasDays(filter)) return [];
  const { accountId = ALL_ACCOUNTS, from = 0, to = LAST_DAY } = filter;
  const days = await chargedDays(parts, accountId, {
    from: Math.max(from, dayOf(oldest)),
    to: Math.min(to, before ? dayOf(before.at - DAY_MS) : LAST_DAY),
    limit,
  });
  return days.map((charges) => ({
    id: `${DAY_ID}${charges.day}`,
    account_id: accountId,
    kind: 'charge',
    amount: 0 - charges.charged,
    request_id: null,
    cause: '',
    actor: '',
    created_at: spanOf(charges.day).toMs - 1,
    charges,
  }));
}

const DAY_ID = 'day-';

function isDay({ id }: StatementCursor): boolean {
  return id.startsWith(DAY_ID);
}
