import { sql, type Kysely } from 'kysely';
import { requestIdAt, requestTime } from '../std/ids.ts';
import { PROMPT_MS, STATE_CODES } from '../store/receipt-codes.ts';
import type { EntryKind, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

/** One change of a balance: an entry, or the charge of a request, which is its receipt. */
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
  /** Leave out the charges of requests. */
  readonly moneyOnly: boolean;
}

/** Where a page ends: lines are ordered by when they were booked. At one moment charges come before entries, newest first. */
export interface StatementCursor {
  readonly at: number;
  readonly id: string;
}

interface StatementPage {
  readonly before?: StatementCursor | undefined;
  readonly limit: number;
}

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/** What changed balances, newest first. Entries and receipts are read page by page and merged. */
export async function statementPage(
  parts: Parts,
  filter: StatementFilter,
  page: StatementPage,
): Promise<StatementLine[]> {
  const sources = filter.moneyOnly
    ? [entryLines(parts, filter, page)]
    : [entryLines(parts, filter, page), lateCharges(parts, filter, page), promptCharges(parts, filter, page)];
  const lines = (await Promise.all(sources)).flat();
  return lines.toSorted(newestFirst).slice(0, page.limit);
}

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
  { accountId }: StatementFilter,
  { before, limit }: StatementPage,
): Promise<StatementLine[]> {
  let query = db
    .selectFrom('entry')
    .select(['id', 'account_id', 'kind', 'amount', 'request_id', 'cause', 'actor', 'created_at']);
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
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
  { before, limit }: StatementPage,
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

/**
 * All other receipts were booked within {@link PROMPT_MS} after their id was made. So reading them by id, newest first,
 * finds them nearly in order: once an id is that much older than a receipt, nothing that follows was booked after it.
 */
async function promptCharges(
  { db, reader }: Parts,
  filter: StatementFilter,
  { before, limit }: StatementPage,
): Promise<StatementLine[]> {
  const found: StatementLine[] = [];
  for (let below = before && requestIdAt(before.at + 1); ;) {
    let query = charges(db, filter);
    if (below !== undefined) query = query.where('receipt.id', '<', below);
    const rows = await reader.all(query.orderBy('receipt.id', 'desc').limit(SCAN_ROWS));
    found.push(...rows.filter((row) => isPromptCharge(row, before)).map(chargeLine));
    const last = rows.at(-1);
    if (rows.length < SCAN_ROWS || !last) return found;
    const latest = requestTime(last.id) + PROMPT_MS;
    if (found.filter((line) => line.created_at > latest).length >= limit) return found;
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
