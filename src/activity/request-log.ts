import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import { requestIdAt } from '../std/ids.ts';
import type { RequestRow, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { isRunning, MAX_RUNNING, ownedBy, spansOf, timeOf, type Span } from './request-days.ts';

/** Which requests; every part narrows further. Without an account it is the requests of all, for admins. */
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
}

export interface PageRequest {
  readonly before?: string | undefined;
  readonly limit: number;
  /** How long to go on looking before giving what was found. */
  readonly patienceMs?: number;
}

export interface LoggedRequestPage {
  readonly rows: readonly LoggedRequest[];
  /** The id to go on from; `undefined`: there are no more. */
  readonly next: string | undefined;
  /** The moment this page looked back to, when it stopped before it was full. */
  readonly searchedTo: number | undefined;
}

const COLUMNS = [
  'id', 'account_id', 'state', 'held', 'charged', 'overrun', 'node', 'kind', 'endpoint', 'model', 'stream', 'client',
  'created_at', 'first_byte_ms', 'duration_ms', 'input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens',
  'images', 'outcome', 'error_code', 'upstream',
] as const; // prettier-ignore

type Columns = (typeof COLUMNS)[number];
export type LoggedRequest = Pick<RequestRow, Columns>;
type LogQuery = SelectQueryBuilder<Schema, 'request', LoggedRequest>;

/** How many rows one look takes in, and for how long a page goes on looking unless it is told otherwise. */
const SCAN_ROWS = 5_000;
const PATIENCE_MS = 50;

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/**
 * One page of the request log, newest first. Each filter that an index answers is answered by it; what is left is checked
 * row by row for a bounded time, and a page that comes up short says where to go on. So no question about the log,
 * however large it is, takes long.
 */
export async function requestPage(
  parts: Parts,
  filter: RequestFilter,
  page: PageRequest,
): Promise<LoggedRequestPage> {
  const plan = planOf(filter);
  if (plan === 'running') return runningPage(parts, filter, page);
  const search = { plan, filter, checks: restOf(plan, filter) };
  const giveUpAt = performance.now() + (page.patienceMs ?? PATIENCE_MS);
  const found: LoggedRequest[] = [];
  for (const span of await spansOf(parts, { ...filter, failedOnly: plan === 'failed' }, page.before)) {
    for (let { before } = page; ;) {
      const { rows, end } = await look(parts, search, { ...span, before }, page.limit + 1);
      found.push(...rows);
      if (found.length > page.limit) return full(found.slice(0, page.limit));
      const next = end ?? span.from;
      if (next && performance.now() > giveUpAt) return { rows: found, next, searchedTo: timeOf(next) };
      if (end === undefined) break;
      before = end;
    }
  }
  return { rows: found, next: undefined, searchedTo: undefined };
}

interface Search {
  readonly plan: Exclude<Plan, 'running'>;
  readonly filter: RequestFilter;
  readonly checks: readonly Check[];
}

interface Place extends Span {
  readonly before: string | undefined;
}

/** Looks at the next rows of every branch. `end`: where it stopped although there are more. */
async function look(
  { db, reader }: Parts,
  search: Search,
  place: Place,
  wanted: number,
): Promise<{ rows: LoggedRequest[]; end: string | undefined }> {
  const { checks } = search;
  const branches = branchesOf(db, search, place);
  const scan = Math.ceil(SCAN_ROWS / branches.length);
  const end = checks.length === 0 ? undefined : await scanEnd(reader, branches, scan);
  // Beyond the place where one branch stops looking, what the others find is not the whole truth.
  const seen = end === undefined ? branches : branchesOf(db, search, { ...place, from: end });
  const found = await Promise.all(
    seen.map((branch) => reader.all(sifted(branch, checks).orderBy('id', 'desc').limit(wanted))),
  );
  return { rows: found.flat().toSorted(newestFirst), end };
}

function full(rows: readonly LoggedRequest[]): LoggedRequestPage {
  return { rows, next: rows.at(-1)?.id, searchedTo: undefined };
}

function newestFirst(a: LoggedRequest, b: LoggedRequest): number {
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

type Plan = 'running' | 'failed' | 'all';

/** Which index answers most of the question. */
function planOf({ state, outcome }: RequestFilter): Plan {
  if (state === 'pending') return 'running';
  return failuresOf({ state, outcome }).length > 0 ? 'failed' : 'all';
}

const FAILURES = ['client_left', 'upstream_failed', 'cut_short', 'expired', 'shed'];

/** The ways of failing that a filter asks for; none: it does not ask for failures. */
function failuresOf({ state, outcome }: Pick<RequestFilter, 'state' | 'outcome'>): readonly string[] {
  if (outcome === 'failed') return FAILURES;
  return FAILURES.filter((one) => one === (outcome ?? state));
}

type Check = readonly [column: 'endpoint' | 'model' | 'state' | 'outcome', value: string];

/** What the plan's index does not answer and every row has to be asked. */
function restOf(plan: Exclude<Plan, 'running'>, { endpoint, model, state, outcome }: RequestFilter): Check[] {
  const checks: Check[] = [];
  if (endpoint !== undefined) checks.push(['endpoint', endpoint]);
  if (model !== undefined) checks.push(['model', model]);
  if (state !== undefined) checks.push(['state', state]);
  if (plan !== 'failed' && outcome !== undefined) checks.push(['outcome', outcome]);
  return checks;
}

/** Conditions of partial indexes must be literal text, or the planner does not recognise them. */
const hasFailed = sql<boolean>`outcome <> 'completed'`;

/** There are never many: all are read, then sorted and cut here. */
async function runningPage(
  { db, reader }: Parts,
  { accountId, endpoint, model, from, to }: RequestFilter,
  { before, limit }: { readonly before?: string | undefined; readonly limit: number },
): Promise<LoggedRequestPage> {
  let query: LogQuery = db.selectFrom('request').select(COLUMNS).where(isRunning);
  if (accountId !== undefined) query = query.where(ownedBy(accountId));
  const rows = (await reader.all(query.limit(MAX_RUNNING)))
    .filter((row) => (endpoint ?? row.endpoint) === row.endpoint && (model ?? row.model) === row.model)
    .filter((row) => row.created_at >= (from ?? 0) && row.created_at <= (to ?? Infinity))
    .filter((row) => before === undefined || row.id < before)
    .toSorted(newestFirst);
  if (rows.length > limit) return full(rows.slice(0, limit));
  return { rows, next: undefined, searchedTo: undefined };
}

function branchesOf(db: Kysely<Schema>, { plan, filter }: Search, place: Place): LogQuery[] {
  const base = inRange(db, filter, place);
  switch (plan) {
    case 'failed':
      return failuresOf(filter).map((outcome) => base.where(hasFailed).where('outcome', '=', outcome));
    case 'all':
      return [base];
    default:
      return plan satisfies never;
  }
}

/** One bound on each side, the tightest: SQLite walks by one and would check the others row by row. */
function inRange(db: Kysely<Schema>, filter: RequestFilter, place: Place): LogQuery {
  let query: LogQuery = db.selectFrom('request').select(COLUMNS);
  if (filter.accountId !== undefined) query = query.where('account_id', '=', filter.accountId);
  const oldest = [filter.from === undefined ? undefined : requestIdAt(filter.from), place.from];
  const newest = [filter.to === undefined ? undefined : requestIdAt(filter.to + 1), place.to, place.before];
  const from = oldest
    .filter((id) => id !== undefined)
    .toSorted()
    .at(-1);
  const to = newest.filter((id) => id !== undefined).toSorted()[0];
  if (from !== undefined) query = query.where('id', '>=', from);
  if (to !== undefined) query = query.where('id', '<', to);
  return query;
}

function sifted(branch: LogQuery, checks: readonly Check[]): LogQuery {
  let query = branch;
  for (const [column, value] of checks) query = query.where(column, '=', value);
  return query;
}

/** The newest of the places where the branches stopped looking: everything after it has been looked at. */
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

/** How many requests are running on all nodes: those that hold money right now. */
export async function runningRequests(db: Kysely<Schema>): Promise<number> {
  const { running } = await db
    .selectFrom('request')
    .select(sql<number>`count(*)`.as('running'))
    .where(isRunning)
    .executeTakeFirstOrThrow();
  return running;
}
