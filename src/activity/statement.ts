import { sql, type Kysely } from 'kysely';
import { requestIdAt, requestTime } from '../std/ids.ts';
import { PROMPT_MS, STATE_CODES } from '../store/receipt-codes.ts';
import type { EntryKind, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

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

export interface StatementFilter {
  readonly accountId?: string | undefined;
  /** Leave out the charges of requests, also those of archived days. */
  readonly moneyOnly: boolean;
}

/** Where a page ends: lines are ordered by when they were booked. At one moment charges come before entries, newest first. */
export interface StatementCursor {
  readonly at: number;
  readonly id: string;
}

interface PageRequest {
  readonly before?: StatementCursor | undefined;
  readonly limit: number;
}

interface StatementPage {
  /** May be fewer than asked for, even none, although there are more: then `next` says where to go on. */
  readonly lines: readonly StatementLine[];
  readonly next: StatementCursor | undefined;
}

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/** What changed balances, newest first. Entries and receipts are read page by page and merged. */
export async function statementPage(
  parts: Parts,
  filter: StatementFilter,
  page: PageRequest,
): Promise<StatementPage> {
  const more = { ...page, limit: page.limit + 1 };
  const nothing = { lines: [], completeAfter: undefined };
  const [entries, late, prompt] = await Promise.all([
    entryLines(parts, filter, more),
    filter.moneyOnly ? [] : lateCharges(parts, filter, more),
    filter.moneyOnly ? nothing : promptCharges(parts, filter, more),
  ]);
  const { completeAfter = -1 } = prompt;
  const found = [...entries, ...late, ...prompt.lines]
    .filter((line) => line.created_at > completeAfter)
    .toSorted(newestFirst);
  const lines = found.slice(0, page.limit);
  const last = lines.at(-1);
  if (found.length > page.limit && last) return { lines, next: { at: last.created_at, id: last.id } };
  const isComplete = prompt.completeAfter === undefined;
  return { lines, next: isComplete ? undefined : { at: completeAfter, id: AFTER_ALL_IDS } };
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

async function entryLines(
  { db, reader }: Parts,
  { accountId, moneyOnly }: StatementFilter,
  { before, limit }: PageRequest,
): Promise<StatementLine[]> {
  let query = db
    .selectFrom('entry')
    .select(['id', 'account_id', 'kind', 'amount', 'request_id', 'cause', 'actor', 'created_at']);
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  if (moneyOnly) query = query.where('kind', '<>', 'charge');
  if (before) {
    const { at, id } = before;
    query = query.where('created_at', '<=', at);
    if (!isCharge(id))
      query = query.where((where) => where.or([where('created_at', '<', at), where('id', '<', Number(id))]));
  }
  const rows = await reader.all(query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit));
  return rows.map((row) => Object.assign(row, { id: String(row.id) }));
}

const VOID = STATE_CODES.void;

function charges(db: Kysely<Schema>, { accountId }: StatementFilter) {
  const query = db
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
  return accountId === undefined ? query : query.where('receipt.account_id', '=', accountId);
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
/** An account may have any number of requests that cost nothing and are no line of it: then a page ends early. */
const MAX_SCANS = 20;

interface PromptCharges {
  readonly lines: readonly StatementLine[];
  /** Set when the scan stopped early: what was booked up to this moment may not be among the lines. */
  readonly completeAfter: number | undefined;
}

/**
 * All other receipts were booked within {@link PROMPT_MS} after their id was made. So reading them by id, newest first,
 * finds them nearly in order: once an id is that much older than a receipt, nothing that follows was booked after it.
 */
async function promptCharges(
  { db, reader }: Parts,
  filter: StatementFilter,
  { before, limit }: PageRequest,
): Promise<PromptCharges> {
  const lines: StatementLine[] = [];
  let below = before && requestIdAt(before.at + 1);
  for (let scans = 1; ; scans++) {
    let query = charges(db, filter);
    if (below !== undefined) query = query.where('receipt.id', '<', below);
    const rows = await reader.all(query.orderBy('receipt.id', 'desc').limit(SCAN_ROWS));
    lines.push(...rows.filter((row) => isPromptCharge(row, before)).map(chargeLine));
    const last = rows.at(-1);
    if (rows.length < SCAN_ROWS || !last) return { lines, completeAfter: undefined };
    const completeAfter = requestTime(last.id) + PROMPT_MS;
    if (lines.filter((line) => line.created_at > completeAfter).length >= limit)
      return { lines, completeAfter: undefined };
    // A page that ended where the one before it did would be the same page again.
    if (scans >= MAX_SCANS && completeAfter < (before?.at ?? Infinity)) return { lines, completeAfter };
    below = last.id as typeof below;
  }
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
