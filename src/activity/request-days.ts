import { sql, type Kysely, type RawBuilder } from 'kysely';
import { DAY_MS, dayOf, dayStart } from '../std/calendar.ts';
import { requestIdAt, requestTime } from '../std/ids.ts';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { ALL_ACCOUNTS } from './usage.ts';

/** A range of request ids, `from` inclusive and `to` exclusive; a missing bound is open. */
export interface IdRange {
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

/** A request gets its id on arrival and its day on admission, possibly by another node's clock. */
const SLACK_MS = 3_600_000;
const MAX_DAYS = 400;
export const LAST_DAY = 99_991_231;
/** Far more than can run at once on one installation. */
export const MAX_RUNNING = 10_000;

/**
 * The id ranges that can contain requests of an endpoint or a model, newest first. The daily sums tell on which days there
 * were any, and an id contains its time: for a model that was used on one day of a year only that day is scanned, and for
 * one that was never used nothing, without an index that every request would have to update.
 */
export async function idRangesOf(
  { db, reader }: { readonly db: Kysely<Schema>; readonly reader: Reader },
  filter: DayFilter,
  before: string | undefined,
): Promise<readonly IdRange[]> {
  if ((filter.endpoint ?? filter.model) === undefined) return [{}];
  const latest = Math.min(filter.to ?? Infinity, before === undefined ? Infinity : requestTime(before));
  // Running requests are read first, as no sum counts them yet: one that ends in between is found twice, but never missed.
  const running = await reader.all(runningOf(db, filter));
  const sums = await reader.all(usedDays(db, filter, latest));
  const days = new Set([...running.map(({ id }) => dayOf(requestTime(id))), ...sums.map(({ day }) => day)]);
  const ranges = mergedRanges([...days].toSorted((a, b) => b - a).map(dayStart)).filter(
    // A search that continued in newer ids than `before` would never end.
    ({ from }) => before === undefined || from < before,
  );
  const oldest = ranges.at(-1);
  return sums.length < MAX_DAYS || !oldest ? ranges : [...ranges.slice(0, -1), { ...oldest, from: '' }];
}

function usedDays(db: Kysely<Schema>, filter: DayFilter, latest: number) {
  const model = filter.model === undefined ? sql`` : sql` AND u.model = ${filter.model}`;
  const endpoint = filter.endpoint === undefined ? sql`` : sql` AND u.endpoint = ${filter.endpoint}`;
  const failed = filter.failedOnly ? sql` AND u.failures > 0` : sql``;
  return newestDays(db, {
    accounts: [filter.accountId ?? ALL_ACCOUNTS],
    where: sql`${model}${endpoint}${failed}`,
    from: filter.from === undefined ? 0 : dayOf(filter.from - SLACK_MS),
    to: Number.isFinite(latest) ? dayOf(latest + SLACK_MS) : LAST_DAY,
    limit: MAX_DAYS,
  });
}

interface NewestDays {
  readonly accounts: readonly string[];
  /** More conditions on the row `u`, each with its AND. */
  readonly where?: RawBuilder<unknown>;
  /** yyyymmdd, both inclusive. */
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

/**
 * The newest days with a sum of any of these accounts. One step of the recursion reads one entry of an index for each,
 * however many models a day has; a plain GROUP BY would read them all.
 */
export function newestDays(db: Kysely<Schema>, { accounts, where = sql``, from, to, limit }: NewestDays) {
  const before = (bound: ReturnType<typeof sql>) => sql`(SELECT max((SELECT u.day FROM usage_day u
    WHERE u.account_id = asked.id${where} AND u.day >= ${from} AND u.day < ${bound} ORDER BY u.day DESC LIMIT 1)) FROM asked)`;
  return (
    db
      // Recursive too, in name: what follows the first keyword is so for all that follow it.
      .withRecursive(
        'asked(id)',
        () => sql<{ id: string }>`(VALUES ${sql.join(accounts.map((id) => sql`(${id})`))})`,
      )
      .withRecursive(
        'used(day)',
        () =>
          sql<{
            day: number | null;
          }>`(SELECT ${before(sql`${to + 1}`)} UNION ALL SELECT ${before(sql`used.day`)} FROM used WHERE used.day IS NOT NULL)`,
      )
      .selectFrom('used')
      .select('day')
      .where('day', 'is not', null)
      .$narrowType<{ day: number }>()
      .limit(limit)
  );
}

function runningOf(db: Kysely<Schema>, { accountId, endpoint, model }: DayFilter) {
  let query = db.selectFrom('running_request').select('id');
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  if (endpoint !== undefined) query = query.where('endpoint', '=', endpoint);
  if (model !== undefined) query = query.where('model', '=', model);
  return query.limit(MAX_RUNNING);
}

/** Consecutive days become one range. */
function mergedRanges(starts: readonly number[]): { from: string; to: string }[] {
  const ranges: { from: string; to: string }[] = [];
  for (const start of starts) {
    const from = requestIdAt(start - SLACK_MS);
    const to = requestIdAt(start + DAY_MS + SLACK_MS);
    const newer = ranges.at(-1);
    if (newer && to >= newer.from) newer.from = from;
    else ranges.push({ from, to });
  }
  return ranges;
}
