import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import { BASE62, requestIdAt } from '../std/ids.ts';
import type { RequestRow, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

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

export interface RequestPage {
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

/** How many rows one look takes in, and for how long a page goes on looking before it gives what it has found. */
const SCAN_ROWS = 2_000;
const PATIENCE_MS = 40;
const MAX_ROUTES = 50;
/** Far more than may run at once on an installation of this kind. */
const MAX_RUNNING = 10_000;

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/**
 * One page of the request log, newest first. Each filter that an index answers is answered by it; what is left is checked
 * row by row for a bounded time, and a page that comes up short says where to go on. So no question about the log,
 * however large it is, takes long.
 */
export async function requestPage(
  parts: Parts,
  filter: RequestFilter,
  page: { readonly before?: string | undefined; readonly limit: number },
): Promise<RequestPage> {
  const plan = planOf(filter);
  if (plan === 'running') return runningPage(parts, filter, page);
  const search = {
    plan,
    filter,
    routes: plan === 'route' ? await routesOf(parts, filter) : [],
    checks: restOf(plan, filter),
  };
  const giveUpAt = performance.now() + PATIENCE_MS;
  const found: LoggedRequest[] = [];
  for (let before = page.before; ;) {
    const { rows, end } = await look(parts, search, before, page.limit + 1);
    found.push(...rows);
    if (found.length > page.limit) return full(found.slice(0, page.limit));
    if (end === undefined) return { rows: found, next: undefined, searchedTo: undefined };
    if (performance.now() > giveUpAt) return { rows: found, next: end, searchedTo: timeOf(end) };
    before = end;
  }
}

interface Search {
  readonly plan: Exclude<Plan, 'running'>;
  readonly filter: RequestFilter;
  readonly routes: readonly { readonly endpoint: string; readonly model: string }[];
  readonly checks: readonly Check[];
}

/** Looks at the next rows of every branch. `end`: where it stopped although there are more. */
async function look(
  { db, reader }: Parts,
  search: Search,
  before: string | undefined,
  wanted: number,
): Promise<{ rows: LoggedRequest[]; end: string | undefined }> {
  const { checks } = search;
  const branches = branchesOf(db, search, before);
  const scan = checks.length === 0 ? wanted : Math.ceil(SCAN_ROWS / Math.max(1, branches.length));
  const found = await Promise.all(
    branches.map((branch) =>
      reader.all(sifted(db, branch.orderBy('id', 'desc').limit(scan), checks, wanted)),
    ),
  );
  const end = checks.length === 0 ? undefined : await scanEnd(reader, branches, scan);
  // Beyond the place where one branch stopped looking, what the others found is not the whole truth.
  const rows = found.flat().filter((row) => end === undefined || row.id >= end);
  return { rows: rows.toSorted(newestFirst), end };
}

function full(rows: readonly LoggedRequest[]): RequestPage {
  return { rows, next: rows.at(-1)?.id, searchedTo: undefined };
}

/** A request's id carries its time: eight Base62 digits of milliseconds after `req_`. */
function timeOf(id: string): number {
  return Array.from(id.slice(4, 12)).reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0);
}

function newestFirst(a: LoggedRequest, b: LoggedRequest): number {
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

type Plan = 'running' | 'failed' | 'route' | 'all';

/** Which index answers most of the question. */
function planOf({ accountId, endpoint, model, state, outcome }: RequestFilter): Plan {
  if (state === 'pending') return 'running';
  if (failuresOf({ state, outcome }).length > 0) return 'failed';
  return accountId !== undefined && (endpoint ?? model) !== undefined ? 'route' : 'all';
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
  if (plan !== 'route' && endpoint !== undefined) checks.push(['endpoint', endpoint]);
  if (plan !== 'route' && model !== undefined) checks.push(['model', model]);
  if (state !== undefined) checks.push(['state', state]);
  if (plan !== 'failed' && outcome !== undefined) checks.push(['outcome', outcome]);
  return checks;
}

/** Conditions of partial indexes must be literal text, or the planner does not recognise them. */
const isRunning = sql<boolean>`state = 'pending'`;
const hasFailed = sql<boolean>`outcome <> 'completed'`;

/** As an expression, so that SQLite does not walk all of the account's requests to find the few that run. */
function ownedBy(accountId: string) {
  return sql<boolean>`account_id || '' = ${accountId}`;
}

/** There are never many: all are read, then sorted and cut here. */
async function runningPage(
  { db, reader }: Parts,
  { accountId, endpoint, model, from, to }: RequestFilter,
  { before, limit }: { readonly before?: string | undefined; readonly limit: number },
): Promise<RequestPage> {
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

function branchesOf(
  db: Kysely<Schema>,
  { plan, filter, routes }: Search,
  before: string | undefined,
): LogQuery[] {
  const base = inRange(db, filter, before);
  switch (plan) {
    case 'failed':
      return failuresOf(filter).map((outcome) => base.where(hasFailed).where('outcome', '=', outcome));
    case 'all':
      return [base];
    case 'route':
      return routes.map(({ endpoint, model }) =>
        base.where('endpoint', '=', endpoint).where('model', '=', model),
      );
    default:
      return plan satisfies never;
  }
}

function inRange(
  db: Kysely<Schema>,
  { accountId, from, to }: RequestFilter,
  before: string | undefined,
): LogQuery {
  let query: LogQuery = db.selectFrom('request').select(COLUMNS);
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  if (from !== undefined) query = query.where('id', '>=', requestIdAt(from));
  if (to !== undefined) query = query.where('id', '<', requestIdAt(to + 1));
  if (before !== undefined) query = query.where('id', '<', before);
  return query;
}

/** The pairs of endpoint and model that match, from the daily sums: there are few, and each is one range of the index. */
async function routesOf(
  { db, reader }: Parts,
  { accountId = '', endpoint, model }: RequestFilter,
): Promise<{ endpoint: string; model: string }[]> {
  if (endpoint !== undefined && model !== undefined) return [{ endpoint, model }];
  let sums = db
    .selectFrom('usage_day')
    .select(['endpoint', 'model'])
    .distinct()
    .where('account_id', '=', accountId);
  // Running requests are in no sum yet.
  let running = db
    .selectFrom('request')
    .select(['endpoint', 'model'])
    .distinct()
    .where(isRunning)
    .where(ownedBy(accountId));
  if (endpoint !== undefined) {
    sums = sums.where('endpoint', '=', endpoint);
    running = running.where('endpoint', '=', endpoint);
  }
  if (model !== undefined) {
    sums = sums.where('model', '=', model);
    running = running.where('model', '=', model);
  }
  return await reader.all(sums.union(running).limit(MAX_ROUTES));
}

function sifted(db: Kysely<Schema>, branch: LogQuery, checks: readonly Check[], limit: number) {
  let query = db.selectFrom(branch.as('request')).selectAll();
  for (const [column, value] of checks) query = query.where(column, '=', value);
  return query.orderBy('id', 'desc').limit(limit);
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
