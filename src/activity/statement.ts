import { sql, type Kysely, type Selectable } from 'kysely';
import { requestIdAt, requestTime } from '../std/ids.ts';
import { PROMPT_MS, STATE_CODES } from '../store/receipt-codes.ts';
import type { EntryKind, EntryTable, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import {
  chargeSearch,
  ENTRY_TABLE,
  entryFilter,
  hasCharges,
  type StatementFilter,
} from './statement-filter.ts';
import { NEWEST_FIRST, tablePage } from './table-page.ts';

/** One change of a balance: an entry, or the charge of a request, which is its receipt. A charge without a request is that of an archived day. */
export interface StatementLine {
  /** The number of an entry, or the id of a request. */
  readonly id: string;
  readonly account_id: string;
  readonly kind: EntryKind;
  readonly amount: number;
  readonly request_id: string | null;
  readonly cause: string;
  readonly actor: string;
  readonly created_at: number;
}

/** Where a page ends: lines are ordered by when they were booked. At one moment charges come before entries, newest first. */
export interface StatementCursor {
  readonly at: number;
  readonly id: string;
}

interface PageRequest {
  readonly before?: StatementCursor | undefined;
  readonly limit: number;
  /** How long a search looks at lines before it returns what was found. */
  readonly maxSearchMs?: number | undefined;
}

interface StatementPage {
  /** May be fewer than asked for, even none, although there are more: then `next` says where to go on. */
  readonly lines: readonly StatementLine[];
  readonly next: StatementCursor | undefined;
  /** How far a search has looked, if not through everything. */
  readonly searchedTo: number | undefined;
}

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/** What changed balances, newest first. Entries and receipts are read page by page and merged. */
export async function statementPage(
  parts: Parts,
  filter: StatementFilter,
  page: PageRequest,
): Promise<StatementPage> {
  const more = { ...page, limit: page.limit + 1 };
  const withCharges = hasCharges(filter);
  const [entries, late, prompt] = await Promise.all([
    entryLines(parts, filter, more),
    withCharges ? lateCharges(parts, filter, more) : [],
    withCharges ? promptCharges(parts, filter, more) : { lines: [], completeAfter: undefined },
  ]);
  const completeAfter = Math.max(entries.completeAfter ?? -1, prompt.completeAfter ?? -1);
  const found = [...entries.lines, ...late, ...prompt.lines]
    .filter((line) => line.created_at > completeAfter)
    .toSorted(newestFirst);
  const lines = found.slice(0, page.limit);
  const last = lines.at(-1);
  if (found.length > page.limit && last)
    return { lines, next: { at: last.created_at, id: last.id }, searchedTo: undefined };
  if (completeAfter === -1) return { lines, next: undefined, searchedTo: undefined };
  const searchedTo = filter.search && completeAfter;
  return { lines, next: { at: completeAfter, id: AFTER_ALL_IDS }, searchedTo };
}

/** Comes before every line of its moment. */
const AFTER_ALL_IDS = `req_${'z'.repeat(24)}`;

function newestFirst(a: StatementLine, b: StatementLine): number {
  if (a.created_at !== b.created_at) return b.created_at - a.created_at;
  if (isCharge(a.id) !== isCharge(b.id)) return isCharge(a.id) ? -1 : 1;
  if (!isCharge(a.id)) return Number(b.id) - Number(a.id);
  return a.id < b.id ? 1 : -1;
}

function isCharge(id: string): boolean {
  return id.startsWith('req_');
}

/** Lines of one kind of row, nearly in order. */
interface FoundLines {
  readonly lines: readonly StatementLine[];
  /** Set when the scan stopped early: what was booked up to this moment may not be among the lines. */
  readonly completeAfter: number | undefined;
}

const DEFAULT_SEARCH_MS = 25;

async function entryLines(
  parts: Parts,
  filter: StatementFilter,
  { before, limit, maxSearchMs = DEFAULT_SEARCH_MS }: PageRequest,
): Promise<FoundLines> {
  const lines: StatementLine[] = [];
  let after = before && { values: [before.at, entriesBefore(before)], since: undefined };
  for (;;) {
    const page = await tablePage<Omit<Selectable<EntryTable>, 'once'>>(
      parts,
      ENTRY_TABLE,
      entryFilter(filter),
      {
        order: NEWEST_FIRST,
        after,
        limit: limit - lines.length,
        maxSearchMs,
      },
    );
    lines.push(...page.rows.map((row) => Object.assign(row, { id: String(row.id) })));
    // A page that ended where the one before it did would be the same page again.
    if (page.searchedTo === undefined || page.searchedTo < (before?.at ?? Infinity))
      return { lines, completeAfter: page.searchedTo };
    after = page.next && { values: page.next.values.map(Number), since: undefined };
  }
}

/** At one moment charges come first: all entries of the moment of a charge follow it. */
function entriesBefore({ id }: StatementCursor): number {
  return isCharge(id) ? Number.MAX_SAFE_INTEGER : Number(id);
}

const VOID = STATE_CODES.void;

function charges(db: Kysely<Schema>, { accountId, search }: StatementFilter) {
  let query = db
    .selectFrom('receipt')
    .innerJoin('route', 'route.id', 'receipt.route')
    .select([
      'receipt.id',
      'receipt.account_id',
      'receipt.charged',
      'receipt.booked_at',
      'receipt.state',
      'receipt.late',
    ])
    .select(['route.endpoint', 'route.model']);
  if (accountId !== undefined) query = query.where('receipt.account_id', '=', accountId);
  for (const condition of chargeSearch(search)) query = query.where(condition);
  return query;
}

type ChargeRow = Awaited<ReturnType<ReturnType<typeof charges>['execute']>>[number];

/** Receipts that were booked long after their request came have an index by that time. */
async function lateCharges(
  { db, reader }: Parts,
  filter: StatementFilter,
  { before, limit }: PageRequest,
): Promise<StatementLine[]> {
  // Literal text, or the planner does not recognise the partial index.
  let query = charges(db, filter)
    .where(sql<boolean>`late = 1`)
    .where('receipt.state', '<>', VOID);
  if (before) {
    const { at, id } = before;
    query = query.where('receipt.booked_at', '<=', at).where((where) => {
      const sooner = where('receipt.booked_at', '<', at);
      return isCharge(id) ? where.or([sooner, where('receipt.id', '<', id)]) : sooner;
    });
  }
  const rows = await reader.all(
    query.orderBy('receipt.booked_at', 'desc').orderBy('receipt.id', 'desc').limit(limit),
  );
  return rows.map(chargeLine);
}

const SCAN_ROWS = 1_000;
const SEARCHED_ROWS = 5_000;
/** An account may have any number of requests that cost nothing and are no line of it: then a page ends early. */
const MAX_SCANS = 20;

/**
 * All other receipts were booked within {@link PROMPT_MS} after their id was made. So reading them by id, newest first,
 * finds them nearly in order: once an id is that much older than a receipt, nothing that follows was booked after it.
 */
async function promptCharges(
  parts: Parts,
  filter: StatementFilter,
  { before, limit, maxSearchMs = DEFAULT_SEARCH_MS }: PageRequest,
): Promise<FoundLines> {
  const lines: StatementLine[] = [];
  const deadline = performance.now() + maxSearchMs;
  let below: string | undefined = before && requestIdAt(before.at + 1);
  for (let scans = 1; ; scans++) {
    const { rows, end } = await scanCharges(parts, filter, below);
    lines.push(...rows.filter((row) => isPromptCharge(row, before)).map(chargeLine));
    if (end === undefined) return { lines, completeAfter: undefined };
    const completeAfter = requestTime(end) + PROMPT_MS;
    if (lines.filter((line) => line.created_at > completeAfter).length >= limit)
      return { lines, completeAfter: undefined };
    const isLong = scans >= MAX_SCANS || (filter.search && performance.now() > deadline);
    // A page that ended where the one before it did would be the same page again.
    if (isLong && completeAfter < (before?.at ?? Infinity)) return { lines, completeAfter };
    below = end;
  }
}

/** The next receipts by id; of a search, those that it finds among more of them. `end`: the last that was looked at. */
async function scanCharges(
  { db, reader }: Parts,
  filter: StatementFilter,
  below: string | undefined,
): Promise<{ rows: readonly ChargeRow[]; end: string | undefined }> {
  let query = charges(db, filter);
  if (below !== undefined) query = query.where('receipt.id', '<', below);
  if (!filter.search) {
    const rows = await reader.all(query.orderBy('receipt.id', 'desc').limit(SCAN_ROWS));
    return { rows, end: rows.length < SCAN_ROWS ? undefined : rows.at(-1)?.id };
  }
  let ids = db.selectFrom('receipt').select('id');
  if (filter.accountId !== undefined) ids = ids.where('account_id', '=', filter.accountId);
  if (below !== undefined) ids = ids.where('id', '<', below);
  const [last] = await reader.all(
    ids
      .orderBy('id', 'desc')
      .limit(1)
      .offset(SEARCHED_ROWS - 1),
  );
  if (last) query = query.where('receipt.id', '>=', last.id);
  return { rows: await reader.all(query.orderBy('receipt.id', 'desc')), end: last?.id };
}

function isPromptCharge(row: ChargeRow, before: StatementCursor | undefined): boolean {
  if (row.late === 1 || row.state === VOID) return false;
  if (!before || row.booked_at < before.at) return true;
  return row.booked_at === before.at && isCharge(before.id) && row.id < before.id;
}

function chargeLine({ id, account_id, charged, booked_at, endpoint, model }: ChargeRow): StatementLine {
  return {
    id,
    account_id,
    kind: 'charge',
    amount: charged === 0 ? 0 : -charged,
    request_id: id,
    cause: `${endpoint}/${model}`,
    actor: 'request',
    created_at: booked_at,
  };
}
