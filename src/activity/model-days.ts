import { sql } from 'kysely';
import { DAY_MS, dayOf, dayStart, startOfDay } from '../std/calendar.ts';
import type { Clock } from '../std/clock.ts';
import { FAULTS } from '../std/fault.ts';
import { requestIdAt } from '../std/ids.ts';
import { slowQuery } from '../store/background-thread.ts';
import { COMPLETED, OUTCOME_CODES } from '../store/receipt-codes.ts';
import type { Store } from '../store/store.ts';
import { firstReceipt, OPEN_MS } from './usage-hours.ts';

/** Times until the first token, or until an image is there, are counted up to each of these, and longer ones apart. */
export const WAIT_BOUNDS_MS = [
  20, 30, 40, 50, 65, 80, 100, 125, 150, 200, 250, 300, 400, 500, 650, 800, 1_000, 1_250, 1_500, 2_000, 2_500, 3_000,
  4_000, 5_000, 6_500, 8_000, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000,
] as const; // prettier-ignore

/** The same of output tokens per second. */
export const SPEED_BOUNDS = [
  1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 65, 80, 100, 125, 150, 200, 250, 300, 400, 500, 650, 800, 1_000, 2_000,
] as const; // prettier-ignore

/** How many values lie up to each bound, and beyond the last one. */
export type BucketCounts = readonly number[];

export function addCounts(a: BucketCounts, b: BucketCounts): BucketCounts {
  return Array.from(
    { length: Math.max(a.length, b.length) },
    (_, place) => (a[place] ?? 0) + (b[place] ?? 0),
  );
}

export function totalOf(counts: BucketCounts): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The value below which `share` of the values lie, evenly spread between two bounds; those beyond the last one count as it. */
export function quantileOf(counts: BucketCounts, bounds: readonly number[], share: number): number {
  const wanted = share * totalOf(counts);
  let below = 0;
  for (const [place, count] of counts.entries()) {
    const to = bounds[place];
    if (to === undefined) break;
    if (count > 0 && below + count >= wanted) {
      const from = bounds[place - 1] ?? 0;
      return from + ((to - from) * (wanted - below)) / count;
    }
    below += count;
  }
  return bounds.at(-1) ?? 0;
}

/** The place of a value among the bounds, as SQL. */
function bucketSql(value: string, bounds: readonly number[]): string {
  const cases = bounds.map((bound, place) => `WHEN ${value} <= ${bound} THEN ${place}`);
  return `CASE ${cases.join(' ')} ELSE ${bounds.length} END`;
}

/** The model name under which the sums of an endpoint are stored. */
export const ALL_MODELS = '';
export const FIGURE_DAYS = 90;

/** After so long the rest is left to the next run. */
const RUN_MS = 10_000;
const ROWS_TOGETHER = 200;
/** Shorter answers say little about speed. */
const LEAST_TOKENS = 20;

interface DayParts {
  readonly store: Store;
  readonly clock: Clock;
}

/**
 * Counts the receipts of the days that are not over, or were not counted yet, into `model_day`. A day is counted as a whole
 * and written over, so that any number of processes may do this, and any number of times. Receipts can only become more
 * until retention takes them away: a row that counts more than there are is the better one, and stays.
 */
export async function countModelDays({ store, clock }: DayParts, stopping?: AbortSignal): Promise<void> {
  const now = clock.now();
  const oldest = now - (FIGURE_DAYS - 1) * DAY_MS;
  let from = Math.max(startOfDay(oldest), await firstOpenDay(store, now));
  const until = performance.now() + RUN_MS;
  while (performance.now() < until && !stopping?.aborted) {
    const first = await firstReceipt(store, from);
    if (first === undefined) break;
    const start = startOfDay(first);
    await writeDay(store, dayOf(start), await dayCounts(store, start));
    from = start + DAY_MS;
  }
  const kept = dayOf(startOfDay(oldest) - DAY_MS);
  await store.db.deleteFrom('model_day').where('day', '<', kept).execute();
}

/** Days before it are counted for good. */
async function firstOpenDay(store: Store, now: number): Promise<number> {
  const last = await store.db
    .selectFrom('model_day')
    .select('day')
    .orderBy('day', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last ? Math.min(dayStart(last.day), startOfDay(now - OPEN_MS)) : 0;
}

interface CountedModel {
  readonly endpoint: string;
  readonly model: string;
  requests: number;
  failures: number;
  waits: BucketCounts;
  speeds: BucketCounts;
}

interface CountedRow {
  readonly endpoint: string;
  readonly model: string;
  readonly wait: number | null;
  readonly speed: number | null;
  readonly requests: number | string;
  readonly failures: number | string;
}

async function dayCounts(store: Store, start: number): Promise<Iterable<CountedModel>> {
  const counted = new Map<string, CountedModel>();
  for (const row of await countedRows(store, [requestIdAt(start), requestIdAt(start + DAY_MS)])) {
    for (const model of [row.model, ALL_MODELS]) add(counted, model, row);
  }
  return counted.values();
}

function add(counted: Map<string, CountedModel>, model: string, row: CountedRow): void {
  const { endpoint } = row;
  const key = `${endpoint} ${model}`;
  const sums = counted.get(key) ?? { endpoint, model, requests: 0, failures: 0, waits: [], speeds: [] };
  const requests = Number(row.requests);
  sums.requests += requests;
  sums.failures += Number(row.failures);
  if (row.wait !== null) sums.waits = addCounts(sums.waits, onlyAt(row.wait, requests));
  if (row.speed !== null) sums.speeds = addCounts(sums.speeds, onlyAt(row.speed, requests));
  counted.set(key, sums);
}

function onlyAt(place: number, count: number): BucketCounts {
  return [...Array.from({ length: place }, () => 0), count];
}

/** Reads a whole day. */
async function countedRows(store: Store, range: [string, string]): Promise<CountedRow[]> {
  return await slowQuery(store)<CountedRow>(countSql(store.dialect.jsonText('r.detail', 'error')), range);
}

function countSql(errorCode: string): string {
  return `SELECT t.endpoint, t.model, c.wait, c.speed, COUNT(*) AS requests, SUM(c.failed) AS failures
    FROM (SELECT r.route,
        CASE WHEN r.outcome = ${COMPLETED} AND r.images > 0 THEN ${bucketSql('r.duration_ms', WAIT_BOUNDS_MS)}
          WHEN r.outcome = ${COMPLETED} AND r.stream = 1 AND r.first_byte_ms IS NOT NULL
            THEN ${bucketSql('r.first_byte_ms', WAIT_BOUNDS_MS)} END AS wait,
        CASE WHEN r.outcome = ${COMPLETED} AND r.stream = 1 AND r.output_tokens >= ${LEAST_TOKENS}
            AND r.duration_ms > r.first_byte_ms
          THEN ${bucketSql('(r.output_tokens * 1000.0 / (r.duration_ms - r.first_byte_ms))', SPEED_BOUNDS)} END AS speed,
        CASE WHEN r.outcome IN (${COMPLETED}, ${OUTCOME_CODES.client_left}) THEN 0
          WHEN ${errorCode} IN (${CLIENT_MISTAKES}) THEN 0 ELSE 1 END AS failed
      FROM receipt r WHERE r.id >= ? AND r.id < ?) AS c
    JOIN route t ON t.id = c.route
    GROUP BY t.endpoint, t.model, c.wait, c.speed`;
}

/** A backend may refuse a request for what the client wrote. */
const CLIENT_MISTAKES = Object.entries(FAULTS)
  .filter(([, { type }]) => type === 'invalid_request_error')
  .map(([code]) => `'${code}'`)
  .join(', ');

async function writeDay({ db }: Store, day: number, counted: Iterable<CountedModel>): Promise<void> {
  const rows = [...counted].map(({ waits, speeds, ...row }) => ({
    ...row,
    day,
    waits: JSON.stringify(waits),
    speeds: JSON.stringify(speeds),
  }));
  for (let at = 0; at < rows.length; at += ROWS_TOGETHER) {
    await db
      .insertInto('model_day')
      .values(rows.slice(at, at + ROWS_TOGETHER))
      .onConflict((conflict) =>
        conflict
          .columns(['endpoint', 'model', 'day'])
          .doUpdateSet((row) => ({
            requests: row.ref('excluded.requests'),
            failures: row.ref('excluded.failures'),
            waits: row.ref('excluded.waits'),
            speeds: row.ref('excluded.speeds'),
          }))
          .where(sql<boolean>`excluded.requests >= model_day.requests`),
      )
      .execute();
  }
}
