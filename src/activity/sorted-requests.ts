import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import { requestTime } from '../std/ids.ts';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import {
  COLUMNS,
  inRange,
  remainingChecks,
  requestPage,
  type LoggedRequest,
  type RequestFilter,
} from './request-log.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/** By what finished requests can be sorted besides time. */
const REQUEST_ORDERS = { cost: 'charged', duration: 'duration_ms' } as const;
type RequestOrder = keyof typeof REQUEST_ORDERS;

/** Sorting by anything but time would need an index that every request has to update; so a bounded number is read. */
const SORTED_REQUESTS = 10_000;

/** Where a page ended, and the newest id of the first page: what came later would shift the pages. */
export interface SortedCursor {
  readonly value: number;
  readonly id: string;
  readonly newest: string;
}

interface SortedPage {
  readonly rows: readonly LoggedRequest[];
  readonly next: SortedCursor | undefined;
  /** Older requests than this were not sorted; `undefined`: there are none. */
  readonly sortedTo: number | undefined;
}

interface SortedRequest {
  readonly by: RequestOrder;
  readonly descending: boolean;
  readonly after: SortedCursor | undefined;
  readonly limit: number;
  readonly mostSorted?: number | undefined;
}

/**
 * The newest finished requests of a filter, sorted. A filter by model or client counts after the newest were taken; a search
 * that finds little among them goes on in older ones for as long as one by time does.
 */
export async function sortedRequests(
  parts: Parts,
  filter: RequestFilter,
  { by, descending, after, limit, mostSorted = SORTED_REQUESTS }: SortedRequest,
): Promise<SortedPage> {
  const { db, reader } = parts;
  const column = REQUEST_ORDERS[by];
  const checks = remainingChecks('all', filter);
  const read = [...new Set(['id', column, ...checks.flatMap(({ columns }) => columns)] as const)];
  const before = after && `${after.newest}~`;
  const newest = inRange(db.selectFrom('closed_request as request').select(COLUMNS), filter, { before })
    .clearSelect()
    .orderBy('id', 'desc');
  let query = db
    .selectFrom(newest.select(read).limit(mostSorted).as('request'))
    .select(['id', sql<number>`${sql.ref(column)}`.as('value')]);
  for (const { holds } of checks) query = query.where(holds);
  if (after) {
    const compared = descending ? sql`<` : sql`>`;
    query = query.where(sql<boolean>`(${sql.ref(column)}, id) ${compared} (${after.value}, ${after.id})`);
  }
  const direction = descending ? 'desc' : 'asc';
  const [found, ends] = await Promise.all([
    reader.all(
      query
        .orderBy('value', direction)
        .orderBy('id', direction)
        .limit(limit + 1),
    ),
    windowEnds(reader, newest.select('id'), mostSorted),
  ]);
  const shown = found.slice(0, limit);
  const rows = await rowsOf(
    parts,
    shown.map(({ id }) => id),
  );
  const last = shown.at(-1);
  if (found.length > limit && last)
    return {
      rows,
      next: { ...last, newest: after?.newest ?? ends.newest ?? last.id },
      sortedTo: ends.oldest === undefined ? undefined : requestTime(ends.oldest),
    };
  const older =
    filter.text === undefined || ends.oldest === undefined || after
      ? undefined
      : await requestPage(parts, filter, { before: `${ends.oldest}~`, limit });
  const oldest = older ? older.next : ends.oldest;
  // What still runs has no cost and no duration yet.
  const ended = older?.rows.filter(({ state }) => state !== 'pending') ?? [];
  return {
    rows: [...rows, ...ended].toSorted(byValue(column, descending)),
    next: undefined,
    sortedTo: oldest === undefined ? undefined : requestTime(oldest),
  };
}

function byValue(column: 'charged' | 'duration_ms', descending: boolean) {
  const sign = descending ? -1 : 1;
  return (a: LoggedRequest, b: LoggedRequest): number =>
    sign * (Number(a[column]) - Number(b[column]) || (a.id < b.id ? -1 : 1));
}

/** The newest id, and the newest of those that are not sorted any more. */
async function windowEnds(
  reader: Reader,
  ids: SelectQueryBuilder<Schema, 'request', { id: string }>,
  mostSorted: number,
): Promise<{ newest: string | undefined; oldest: string | undefined }> {
  const [[first], [beyond]] = await Promise.all([
    reader.all(ids.limit(1)),
    reader.all(ids.limit(1).offset(mostSorted)),
  ]);
  return { newest: first?.id, oldest: beyond?.id };
}

/** In the order of their ids in the list. */
async function rowsOf({ db, reader }: Parts, ids: readonly string[]): Promise<LoggedRequest[]> {
  if (ids.length === 0) return [];
  const rows = await reader.all(db.selectFrom('closed_request').select(COLUMNS).where('id', 'in', ids));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
