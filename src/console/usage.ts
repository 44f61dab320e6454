import { z } from 'zod';
import { textStream } from '../activity/csv.ts';
import { sumUsage } from '../activity/usage.ts';
import { UsageByHour } from '../activity/usage-by-hour.ts';
import { usageDays, usageDaysByEndpoint, usageModels, type UsageFilter } from '../activity/usage-sums.ts';
import { Fault } from '../std/fault.ts';
import { DAY_MS, dayOf, isTimeZone } from '../std/calendar.ts';
import { dayText } from './amounts.ts';
import type { RouteParts } from './parts.ts';
import { route } from './route.ts';
import { usageFile, type DayRange } from './usage-file.ts';
import {
  chartRows,
  GROUPINGS,
  groupsBy,
  MAX_GROUPS,
  MEASURES,
  othersOf,
  showsModels,
  usageGroup,
  usageSaved,
  type UsageRead,
} from './usage-groups.ts';

const day = z.iso.date().optional();
const name = z.string().min(1).max(256).optional();
/** Both days inclusive, UTC; the default is the last 30. */
export const rangeFields = { from: day, to: day };
/** Whose hours they are, such as `Europe/Berlin`; the default is UTC. */
const zone = z.string().max(64).refine(isTimeZone, 'A time zone looks like Europe/Berlin.').optional();
const querySchema = z.strictObject({
  ...rangeFields,
  endpoint: name,
  model: name,
  by: z.enum(GROUPINGS).optional(),
  zone,
  /** The measure by which the chart chooses the series that it names. */
  measure: z.enum(MEASURES).optional(),
});
type UsageQuery = z.output<typeof querySchema>;
const hoursSchema = z.strictObject({ ...rangeFields, zone });
const fileSchema = z.strictObject({ ...rangeFields, by: z.enum(GROUPINGS).optional(), zone });
const MAX_DAYS = 366;
const DEFAULT_DAYS = 30;
const UTC = 'UTC';

/** Usage by model, endpoint, client, hour and day, as a table, as a heat map and as a CSV file. */
export const usageRoutes = [
  route('GET /api/console/usage', {
    who: 'user',
    compressed: true,
    query: querySchema,
    handle: (parts, { user, query }) => usageReport(parts, user.accountId, query),
  }),
  route('GET /api/console/usage/hours', {
    who: 'user',
    compressed: true,
    query: hoursSchema,
    handle: (parts, { user, query }) => heatMap(parts, user.accountId, query),
  }),
  route('GET /api/console/usage.csv', {
    who: 'user',
    query: fileSchema,
    handle: (parts, { user, query }) => {
      const range = rangeOf(query, parts.clock.now());
      const { by = 'model', zone = UTC } = query;
      const lines = usageFile(parts, { accountId: user.accountId, ...range, by, zone });
      return Promise.resolve(csvResponse(`usage-${range.from}-${range.to}`, lines));
    },
  }),
];

async function usageReport(parts: RouteParts, accountId: string, query: UsageQuery) {
  const { endpoint, model, by = 'model', measure = 'spend', zone = UTC } = query;
  const isPart = (endpoint ?? model) !== undefined;
  if (isPart && (by === 'client' || by === 'hour'))
    throw new Fault('invalid_field', `Usage by ${by} is only kept for all models together.`, {
      param: 'by',
    });
  const at = { db: parts.store.db, reader: parts.reader };
  const range = rangeOf(query, parts.clock.now());
  const whole = { accountId, ...range };
  const filter = { ...whole, endpoint, model };
  // The longest sums, which go beside the others.
  const long = { ...at, reader: at.reader.sums };
  const [{ days, counted }, models, endpointDays] = await Promise.all([
    countedDays(at, { filter, whole }),
    showsModels(by) ? usageModels(long, filter, MAX_GROUPS) : [],
    by === 'endpoint' ? usageDaysByEndpoint(long, filter) : [],
  ]);
  const read = { at, filter, days, models, endpointDays, counted, zone, measure };
  const [rows, groups] = await Promise.all([chartRows(by, read), groupsBy(by, read)]);
  const totals = sumUsage(days);
  return {
    from: dayText(range.from),
    to: dayText(range.to),
    rows,
    groups: groups.map(usageGroup),
    /** Everything outside the listed groups, as one; null: there is nothing else. */
    others: othersOf(totals, groups),
    totals: usageSaved(totals),
    /**
     * Requests that are not broken down by hour and client: their receipts are no longer kept, or are still being
     * counted.
     */
    missing: counted.missing,
  };
}

async function countedDays(
  at: UsageRead['at'],
  { filter, whole }: { filter: UsageFilter; whole: UsageFilter },
): Promise<Pick<UsageRead, 'days' | 'counted'>> {
  const isPart = (filter.endpoint ?? filter.model) !== undefined;
  const shown = usageDays(at, filter);
  const [days, counted] = await Promise.all([
    shown,
    UsageByHour.read(at, whole, isPart ? usageDays(at, whole) : shown),
  ]);
  return { days, counted };
}

/** By hour and weekday of a time zone; only those with requests. */
async function heatMap(parts: RouteParts, accountId: string, query: z.output<typeof hoursSchema>) {
  const at = { db: parts.store.db, reader: parts.reader };
  const range = { accountId, ...rangeOf(query, parts.clock.now()) };
  const counted = await UsageByHour.read(at, range, usageDays(at, range));
  const hours = await counted.byHourOfWeek(query.zone ?? UTC);
  return {
    cells: [...hours].map(([place, sums]) => ({
      /** 0 is Monday. */
      weekday: Math.floor(place / 24),
      hour: place % 24,
      ...usageSaved(sums),
    })),
    missing: counted.missing,
  };
}

export function rangeOf(
  query: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: number,
): DayRange {
  const to = query.to === undefined ? now : Date.parse(query.to);
  const from = query.from === undefined ? to - (DEFAULT_DAYS - 1) * DAY_MS : Date.parse(query.from);
  if (from > to || to - from >= MAX_DAYS * DAY_MS) {
    throw new Fault('invalid_field', `Ask for 1 to ${MAX_DAYS} days.`, { param: 'from' });
  }
  return { from: dayOf(from), to: dayOf(to) };
}

export function csvResponse(name: string, lines: AsyncGenerator<string>): Response {
  return new Response(textStream(lines), {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="tollgate-${name}.csv"`,
    },
  });
}
