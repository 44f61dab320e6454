import { containing, MOST_ROWS, type RowCount } from './table-page.ts';
import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import { requestIdAt, requestTime } from '../std/ids.ts';
import type { RequestRow, Schema } from '../store/schema.ts';
import { COMPLETED, OUTCOME_CODES, RECEIPT_OUTCOMES } from '../store/receipt-codes.ts';
import type { Reader } from './reader.ts';
import { MAX_RUNNING, idRangesOf, type IdRange } from './request-days.ts';

/** Which requests; every field narrows the result. Without an account: the requests of all accounts, for admins. */
export interface RequestFilter {
  readonly accountId?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly model?: string | undefined;
  readonly state?: 'pending' | 'posted' | 'void' | 'expired' | undefined;
  /** `failed`: everything that ended other than completed. */
  readonly outcome?: string | undefined;
  /** Milliseconds, both inclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** What the id begins with. */
  readonly idPrefix?: string | undefined;
  /** What the User-Agent begins with. */
  readonly client?: string | undefined;
  readonly backend?: string | undefined;
  /** Part of the id, of the client, or of the code of an error. */
  readonly text?: string | undefined;
}

interface PageRequest {
  readonly before?: string | undefined;
  readonly limit: number;
  /** How long to search before returning what was found. */
  readonly maxSearchMs?: number;
}

interface LoggedRequestPage {
  readonly rows: readonly LoggedRequest[];
  /** The id to continue from; `undefined`: there are no more. */
  readonly next: string | undefined;
  /** How far back in time this page searched, if it stopped before it was full. */
  readonly searchedTo: number | undefined;
}

export const COLUMNS = [
  'id', 'account_id', 'state', 'held', 'charged', 'overrun', 'node', 'kind', 'endpoint', 'model', 'stream', 'client',
  'created_at', 'first_byte_ms', 'duration_ms', 'input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens',
  'images', 'extra', 'outcome', 'error_code', 'upstream', 'cost', 'possible_cost',
] as const; // prettier-ignore

type Columns = (typeof COLUMNS)[number];
export type LoggedRequest = Pick<RequestRow, Columns>;
type LogQuery = SelectQueryBuilder<Schema, 'request', LoggedRequest>;

/** How many rows one query scans, and how long a page searches by default. */
const SCAN_ROWS = 5_000;
const DEFAULT_SEARCH_MS = 50;

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/**
 * One page of the request log, newest first. A filter that an index supports uses the index; the other filters are
 * checked row by row for a bounded time, and a page that is not full says where to continue. So no query takes long,
 * however large the log is.
 */
export async function requestPage(
  parts: Parts,
  filter: RequestFilter,
  page: PageRequest,
): Promise<LoggedRequestPage> {
  const plan = planOf(filter);
  if (plan === 'running') return runningPage(parts, filter, page);
  const search = { plan, filter, checks: remainingChecks(plan, filter) };
  const deadline = performance.now() + (page.maxSearchMs ?? DEFAULT_SEARCH_MS);
  const found: LoggedRequest[] = [];
  for (const idRange of await idRangesOf(parts, { ...filter, failedOnly: plan === 'failed' }, page.before)) {
    for (let { before } = page; ;) {
      const { rows, end } = await scanNext(parts, search, { ...idRange, before }, page.limit + 1);
      found.push(...rows);
      if (found.length > page.limit) return fullPage(found.slice(0, page.limit));
      const next = end ?? idRange.from;
      if (next && performance.now() > deadline) return { rows: found, next, searchedTo: requestTime(next) };
      if (end === undefined) break;
      before = end;
    }
  }
  return { rows: found, next: undefined, searchedTo: undefined };
}

/** How many requests a filter finds among the newest that are counted: fewer where each has to be looked at. */
export async function countRequests({ db, reader }: Parts, filter: RequestFilter): Promise<RowCount> {
  const checks = remainingChecks('all', filter);
  const most = checks.length === 0 ? MOST_ROWS.sorted : MOST_ROWS.searched;
  const columns = [...new Set(['id', ...checks.flatMap((check) => check.columns)] as const)];
  const newest = inRange(db.selectFrom('request').select(COLUMNS), filter, { before: undefined })
    .clearSelect()
    .select(columns)
    .orderBy('id', 'desc')
    .limit(most + 1);
  const conditions = checks.map(({ holds }) => holds);
  const holds = conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` AND `);
  const [counted] = await reader.all(
    db
      .selectFrom(newest.as('request'))
      .select([
        sql<number | string>`count(*)`.as('seen'),
        sql<number | string>`coalesce(sum(CASE WHEN ${holds} THEN 1 ELSE 0 END), 0)`.as('rows'),
      ]),
  );
  const more = Number(counted?.seen ?? 0) > most;
  return { rows: Math.min(Number(counted?.rows ?? 0), most), more };
}

interface Search {
  readonly plan: Exclude<Plan, 'running'>;
  readonly filter: RequestFilter;
  readonly checks: readonly RowCheck[];
}

interface ScanRange extends IdRange {
  readonly before: string | undefined;
}

/** Scans the next rows of every branch. `end`: where it stopped although there are more rows. */
async function scanNext(
  { db, reader }: Parts,
  search: Search,
  range: ScanRange,
  limit: number,
): Promise<{ rows: LoggedRequest[]; end: string | undefined }> {
  const { checks } = search;
  const branches = branchesOf(db, search, range);
  const scan = Math.ceil(SCAN_ROWS / branches.length);
  const end = checks.length === 0 ? undefined : await scanEnd(reader, branches, scan);
  // Older than where one branch stopped, the rows of the other branches would not be all the matching rows.
  const seen = end === undefined ? branches : branchesOf(db, search, { ...range, from: end });
  const found = await Promise.all(
    seen.map((branch) => reader.all(withChecks(branch, checks).orderBy('id', 'desc').limit(limit))),
  );
  return { rows: found.flat().toSorted(newestFirst), end };
}

function fullPage(rows: readonly LoggedRequest[]): LoggedRequestPage {
  return { rows, next: rows.at(-1)?.id, searchedTo: undefined };
}

function newestFirst(a: LoggedRequest, b: LoggedRequest): number {
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

type Plan = 'running' | 'failed' | 'all';

/** Which index covers most of the filter. */
function planOf({ state, outcome }: RequestFilter): Plan {
  if (state === 'pending') return 'running';
  return failuresOf({ state, outcome }).length > 0 ? 'failed' : 'all';
}

const FAILURES = RECEIPT_OUTCOMES.filter((outcome) => outcome !== 'completed');
type Failure = (typeof FAILURES)[number];

/** The failure outcomes that a filter asks for; empty: it does not ask for failures. */
function failuresOf({ state, outcome }: Pick<RequestFilter, 'state' | 'outcome'>): readonly Failure[] {
  if (outcome === 'failed') return FAILURES;
  return FAILURES.filter((one) => one === (outcome ?? state));
}

type CheckedColumn =
  | 'endpoint'
  | 'model'
  | 'state'
  | 'outcome'
  | 'upstream'
  | 'client'
  | 'error_code'
  | 'outcome_code';

/** A condition on a row, and the columns that it reads. */
interface RowCheck {
  readonly columns: readonly CheckedColumn[];
  readonly holds: RawBuilder<boolean>;
}

/** The filters that the plan's index does not cover; they are checked on every row. */
export function remainingChecks(plan: Plan, filter: RequestFilter): RowCheck[] {
  const checks: RowCheck[] = [];
  const equal = (column: CheckedColumn, value: string | undefined): void => {
    if (value !== undefined)
      checks.push({ columns: [column], holds: sql<boolean>`${sql.ref(column)} = ${value}` });
  };
  equal('endpoint', filter.endpoint);
  equal('model', filter.model);
  equal('state', filter.state);
  equal('upstream', filter.backend);
  if (plan !== 'failed' && filter.outcome === 'failed')
    checks.push({ columns: ['outcome_code'], holds: hasFailed });
  else if (plan !== 'failed') equal('outcome', filter.outcome);
  const { client, text } = filter;
  if (client !== undefined)
    checks.push({
      columns: ['client'],
      holds: sql<boolean>`substr(client, 1, ${client.length}) = ${client}`,
    });
  if (text !== undefined) checks.push(textCheck(text));
  return checks;
}

/** Only what failed has an error, and reading it takes a while. */
function textCheck(text: string): RowCheck {
  const pattern = containing(text);
  return {
    columns: ['client', 'outcome_code', 'error_code'],
    holds: sql<boolean>`(lower(id) LIKE ${pattern} ESCAPE '\\' OR lower(client) LIKE ${pattern} ESCAPE '\\' OR
      CASE WHEN ${hasFailed} THEN lower(error_code) LIKE ${pattern} ESCAPE '\\' ELSE 1 = 0 END)`,
  };
}

/** Conditions of partial indexes must be literal text, or the planner does not recognise them. */
const hasFailed = sql<boolean>`outcome_code <> ${sql.lit(COMPLETED)}`;

/** There are never many running requests: all are read, then sorted and cut here. */
async function runningPage(
  { db, reader }: Parts,
  filter: RequestFilter,
  { before, limit }: { readonly before?: string | undefined; readonly limit: number },
): Promise<LoggedRequestPage> {
  const { from, to, idPrefix = '' } = filter;
  let query = db.selectFrom('running_request').select(COLUMNS);
  if (filter.accountId !== undefined) query = query.where('account_id', '=', filter.accountId);
  // The state is that of all of them, and is not checked again.
  for (const { holds } of remainingChecks('running', { ...filter, state: undefined }))
    query = query.where(holds);
  const rows = (await reader.all(query.limit(MAX_RUNNING)))
    .filter((row) => row.id.startsWith(idPrefix))
    .filter((row) => row.created_at >= (from ?? 0) && row.created_at <= (to ?? Infinity))
    .filter((row) => before === undefined || row.id < before)
    .toSorted(newestFirst);
  if (rows.length > limit) return fullPage(rows.slice(0, limit));
  return { rows, next: undefined, searchedTo: undefined };
}

function branchesOf(db: Kysely<Schema>, { plan, filter }: Search, range: ScanRange): LogQuery[] {
  switch (plan) {
    case 'failed': {
      const closed = inRange(db.selectFrom('closed_request as request').select(COLUMNS), filter, range);
      return failuresOf(filter).map((outcome) =>
        closed.where(hasFailed).where('outcome_code', '=', OUTCOME_CODES[outcome]),
      );
    }
    case 'all':
      return [inRange(db.selectFrom('request').select(COLUMNS), filter, range)];
    default:
      return plan satisfies never;
  }
}

/** Only the tightest bound on each side: SQLite uses one for the index and would check the others row by row. */
export function inRange(requests: LogQuery, filter: RequestFilter, range: ScanRange): LogQuery {
  let query = requests;
  if (filter.accountId !== undefined) query = query.where('account_id', '=', filter.accountId);
  const { idPrefix } = filter;
  const oldest = [filter.from === undefined ? undefined : requestIdAt(filter.from), range.from, idPrefix];
  const newest = [
    filter.to === undefined ? undefined : requestIdAt(filter.to + 1),
    range.to,
    range.before,
    idPrefix === undefined ? undefined : idPrefix + AFTER_EVERY_ID,
  ];
  const from = oldest
    .filter((id) => id !== undefined)
    .toSorted()
    .at(-1);
  const to = newest.filter((id) => id !== undefined).toSorted()[0];
  if (from !== undefined) query = query.where('id', '>=', from);
  if (to !== undefined) query = query.where('id', '<', to);
  return query;
}

/** Greater than every character of an id. */
const AFTER_EVERY_ID = '~';

function withChecks(branch: LogQuery, checks: readonly RowCheck[]): LogQuery {
  let query = branch;
  for (const { holds } of checks) query = query.where(holds);
  return query;
}

/** The newest id at which a branch stopped: everything newer has been scanned. */
async function scanEnd(
  reader: Reader,
  branches: readonly LogQuery[],
  scan: number,
): Promise<string | undefined> {
  const ends = await Promise.all(
    branches.map((branch) =>
      reader.all(
        branch
          .clearSelect()
          .select('id')
          .orderBy('id', 'desc')
          .limit(1)
          .offset(scan - 1),
      ),
    ),
  );
  return ends
    .flat()
    .map(({ id }) => id)
    .toSorted()
    .at(-1);
}

/** One request with everything that its receipt shows; an account sees only its own. */
export function requestById(db: Kysely<Schema>, id: string, accountId?: string) {
  let query = db.selectFrom('request').selectAll().where('id', '=', id);
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  return query.executeTakeFirst();
}

/** The first request an account ever made. */
export function firstRequest(db: Kysely<Schema>, accountId: string) {
  return db
    .selectFrom('request')
    .select(['id', 'created_at', 'endpoint', 'model', 'state'])
    .where('account_id', '=', accountId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}

/** How many requests are running on all nodes: those with an open hold. */
export async function runningRequests(db: Kysely<Schema>): Promise<number> {
  const { running } = await db
    .selectFrom('hold')
    .select(sql<number>`count(*)`.as('running'))
    .executeTakeFirstOrThrow();
  return running;
}

/** Whether the receipts of the day from which this id comes were archived, so that the request may have been there. */
export async function wasArchived(db: Kysely<Schema>, id: string, accountId: string): Promise<boolean> {
  if (!/^req_[0-9A-Za-z]{24}$/.test(id)) return false;
  const day = await db
    .selectFrom('archived_day')
    .select('day')
    .where('account_id', '=', accountId)
    // A request gets its id before its day, and by another clock.
    .where(
      'day',
      'in',
      [-1, 0, 1].map((days) => dayOf(requestTime(id) + days * DAY_MS)),
    )
    .limit(1)
    .executeTakeFirst();
  return day !== undefined;
}
