import { sql, type Kysely } from 'kysely';
import { dayOf } from '../std/calendar.ts';
import { BASE62, requestIdAt } from '../std/ids.ts';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { ALL_ACCOUNTS } from './usage.ts';

/** A stretch of the log between two ids, the older inclusive; without an end it goes on for ever. */
export interface Span {
  readonly from?: string;
  readonly to?: string;
}

interface DayFilter {
  readonly accountId?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly model?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly failedOnly: boolean;
}

const DAY_MS = 86_400_000;
/** A request gets its id when it arrives and its day when it is admitted, by another clock if there are several nodes. */
const SLACK_MS = 3_600_000;
const MAX_DAYS = 400;
/** Far more than may run at once on an installation of this kind. */
export const MAX_RUNNING = 10_000;

/** Conditions of partial indexes must be literal text, or the planner does not recognise them. */
export const isRunning = sql<boolean>`state = 'pending'`;

/** As an expression, so that SQLite does not walk all of the account's requests to find the few that run. */
export function ownedBy(accountId: string) {
  return sql<boolean>`account_id || '' = ${accountId}`;
}

/**
 * Where in the log requests of an endpoint or a model can be, newest first. The daily sums know on which days there were
 * any, and an id carries its time: so a model that was used on one day of a year costs a look at that day, and one that
 * was never used costs none, without an index that every request would pay for.
 */
export async function spansOf(
  { db, reader }: { readonly db: Kysely<Schema>; readonly reader: Reader },
  filter: DayFilter,
  before: string | undefined,
): Promise<readonly Span[]> {
  if ((filter.endpoint ?? filter.model) === undefined) return [{}];
  const latest = Math.min(filter.to ?? Infinity, before === undefined ? Infinity : timeOf(before));
  // First what runs, which no sum has counted yet; what ends in between is then found twice, and never not at all.
  const running = await reader.all(runningOf(db, filter));
  let query = db
    .selectFrom('usage_day')
    .select('day')
    .where('account_id', '=', filter.accountId ?? ALL_ACCOUNTS);
  if (filter.endpoint !== undefined) query = query.where('endpoint', '=', filter.endpoint);
  if (filter.model !== undefined) query = query.where('model', '=', filter.model);
  if (filter.failedOnly) query = query.where('failures', '>', 0);
  if (filter.from !== undefined) query = query.where('day', '>=', dayOf(filter.from - SLACK_MS));
  if (Number.isFinite(latest)) query = query.where('day', '<=', dayOf(latest + SLACK_MS));
  const sums = await reader.all(query.groupBy('day').orderBy('day', 'desc').limit(MAX_DAYS));
  const days = new Set([...running.map(({ id }) => dayOf(timeOf(id))), ...sums.map(({ day }) => day)]);
  const spans = merged([...days].toSorted((a, b) => b - a).map(startOf)).filter(
    // A search that went on in what is newer than its place would never end.
    ({ from }) => before === undefined || from < before,
  );
  const oldest = spans.at(-1);
  return sums.length < MAX_DAYS || !oldest ? spans : [...spans.slice(0, -1), { ...oldest, from: '' }];
}

function runningOf(db: Kysely<Schema>, { accountId, endpoint, model }: DayFilter) {
  let query = db.selectFrom('request').select('id').where(isRunning);
  if (accountId !== undefined) query = query.where(ownedBy(accountId));
  if (endpoint !== undefined) query = query.where('endpoint', '=', endpoint);
  if (model !== undefined) query = query.where('model', '=', model);
  return query.limit(MAX_RUNNING);
}

/** Days that follow one another are one stretch. */
function merged(starts: readonly number[]): { from: string; to: string }[] {
  const spans: { from: string; to: string }[] = [];
  for (const start of starts) {
    const from = requestIdAt(start - SLACK_MS);
    const to = requestIdAt(start + DAY_MS + SLACK_MS);
    const newer = spans.at(-1);
    if (newer && to >= newer.from) newer.from = from;
    else spans.push({ from, to });
  }
  return spans;
}

/** The first moment of a day that is written yyyymmdd. */
function startOf(day: number): number {
  return Date.UTC(Math.floor(day / 10_000), (Math.floor(day / 100) % 100) - 1, day % 100);
}

/** A request's id carries its time: eight Base62 digits of milliseconds after `req_`. */
export function timeOf(id: string): number {
  return Array.from(id.slice(4, 12)).reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0);
}
