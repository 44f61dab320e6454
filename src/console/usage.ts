import { z } from 'zod';
import { csvLine, textStream } from '../activity/csv.ts';
import { DAY_MS, sumUsage, usageRows, type UsageSums } from '../activity/usage.ts';
import {
  minus,
  usageDays,
  usageDaysByModel,
  usageEndpoints,
  usageModels,
  type UsageOfDay,
  type UsageOfDayAndModel,
  type UsageOfModel,
} from '../activity/usage-sums.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { dayOf } from '../std/calendar.ts';
import { dayText, usd } from './amounts.ts';
import type { UsageCounts, UsageReport, UsageRow } from './contract.ts';
import type { RouteParts } from './parts.ts';
import { route } from './route.ts';

const day = z.iso.date().optional();
const name = z.string().min(1).max(256).optional();
/** Both days inclusive, UTC; the default is the last 30. */
const rangeFields = { from: day, to: day };
const querySchema = z.strictObject({
  ...rangeFields,
  endpoint: name,
  model: name,
  by: z.enum(['model', 'endpoint', 'day']).optional(),
  /** By what the models with names of their own in the chart are chosen. */
  measure: z.enum(['spend', 'requests', 'tokens', 'images']).optional(),
});
type UsageQuery = z.output<typeof querySchema>;
const fileSchema = z.strictObject(rangeFields);
const MAX_DAYS = 366;
const DEFAULT_DAYS = 30;
const MAX_GROUPS = 200;
const CHART_MODELS = 8;

/** Usage by day, model and endpoint, as a table and as a CSV file. */
export const usageRoutes = [
  route('GET /api/console/usage', {
    who: 'user',
    compressed: true,
    query: querySchema,
    handle: (parts, { user, query }) => usageReport(parts, user.accountId, query),
  }),
  /** One line per day, endpoint and model. */
  route('GET /api/console/usage.csv', {
    who: 'user',
    query: fileSchema,
    handle: (parts, { user, query }) => {
      const range = rangeOf(query, parts.clock.now());
      return Promise.resolve(
        csvResponse(`usage-${range.from}-${range.to}`, usageCsv(parts, user.accountId, range)),
      );
    },
  }),
];

interface DayRange {
  readonly from: number;
  readonly to: number;
}

async function usageReport(parts: RouteParts, accountId: string, query: UsageQuery): Promise<UsageReport> {
  const at = { db: parts.store.db, reader: parts.reader };
  const range = rangeOf(query, parts.clock.now());
  const filter = { accountId, ...range, endpoint: query.endpoint, model: query.model };
  const [days, models] = await Promise.all([usageDays(at, filter), usageModels(at, filter, MAX_GROUPS)]);
  const named = chartModels(models, query.measure ?? 'spend');
  const [chart, groups] = await Promise.all([
    usageDaysByModel(at, filter, days, named),
    groupsOf(query.by ?? 'model', days, models, () => usageEndpoints(at, filter)),
  ]);
  const totals = sumUsage(days);
  const others = minus(totals, groups);
  return {
    from: dayText(range.from),
    to: dayText(range.to),
    rows: chart.map(usageRow),
    groups: groups.map((group) => ({
      day: group.day === undefined ? null : dayText(group.day),
      endpoint: group.endpoint ?? null,
      model: group.model ?? null,
      ...usageCounts(group),
    })),
    others: others.requests > 0 ? usageCounts(others) : null,
    totals: usageCounts(totals),
  };
}

type SummedGroup = UsageSums & {
  readonly day?: number;
  readonly endpoint?: string;
  readonly model?: string;
};

// oxlint-disable-next-line max-params -- what was read, and what is read only if it is asked for
async function groupsOf(
  by: NonNullable<UsageQuery['by']>,
  days: readonly UsageOfDay[],
  models: readonly UsageOfModel[],
  endpoints: () => Promise<SummedGroup[]>,
): Promise<readonly SummedGroup[]> {
  switch (by) {
    case 'model':
      return models;
    case 'endpoint':
      return await endpoints();
    case 'day':
      return days.toReversed();
    default:
      return by satisfies never;
  }
}

const MEASURES: Record<NonNullable<UsageQuery['measure']>, (sums: UsageSums) => number> = {
  spend: (sums) => sums.charged,
  requests: (sums) => sums.requests,
  tokens: (sums) => sums.input_tokens + sums.output_tokens,
  images: (sums) => sums.images,
};

function chartModels(
  models: readonly UsageOfModel[],
  measure: NonNullable<UsageQuery['measure']>,
): UsageOfModel[] {
  const value = MEASURES[measure];
  return models.toSorted((a, b) => value(b) - value(a)).slice(0, CHART_MODELS);
}

function rangeOf(query: z.output<typeof fileSchema>, now: number): DayRange {
  const to = query.to === undefined ? now : Date.parse(query.to);
  const from = query.from === undefined ? to - (DEFAULT_DAYS - 1) * DAY_MS : Date.parse(query.from);
  if (from > to || to - from >= MAX_DAYS * DAY_MS) {
    throw new AuthRefusal('invalid_field', `Ask for 1 to ${MAX_DAYS} days.`, { param: 'from' });
  }
  return { from: dayOf(from), to: dayOf(to) };
}

export function usageRow(row: UsageOfDayAndModel): UsageRow {
  return { day: dayText(row.day), endpoint: row.endpoint, model: row.model, ...usageCounts(row) };
}

export function usageCounts(sums: UsageSums): UsageCounts {
  return {
    requests: sums.requests,
    failures: sums.failures,
    inputTokens: sums.input_tokens,
    cachedTokens: sums.cached_tokens,
    outputTokens: sums.output_tokens,
    reasoningTokens: sums.reasoning_tokens,
    images: sums.images,
    chargedUsd: usd(sums.charged),
  };
}

const HEADER = [
  'day', 'endpoint', 'model', 'requests', 'failures', 'input_tokens', 'cached_tokens', 'output_tokens',
  'reasoning_tokens', 'images', 'charged_usd',
]; // prettier-ignore

/** Month by month, so that a year of many models is never in memory at once. */
async function* usageCsv(parts: RouteParts, accountId: string, range: DayRange): AsyncGenerator<string> {
  const at = { db: parts.store.db, reader: parts.reader };
  yield csvLine(HEADER);
  for (const month of monthsOf(range)) {
    const rows = await usageRows(at, accountId, month);
    const lines = rows.map(
      (row) =>
      csvLine([
        dayText(row.day), row.endpoint, row.model, row.requests, row.failures, row.input_tokens, row.cached_tokens,
        row.output_tokens, row.reasoning_tokens, row.images, usd(row.charged),
      ]), // prettier-ignore
    );
    if (lines.length > 0) yield lines.join('');
  }
}

function monthsOf({ from, to }: DayRange): DayRange[] {
  const months: DayRange[] = [];
  for (let first = from; first <= to; first = nextMonth(first)) {
    months.push({ from: first, to: Math.min(to, Math.floor(first / 100) * 100 + 31) });
  }
  return months;
}

function nextMonth(day: number): number {
  const month = Math.floor(day / 100);
  return (month % 100 === 12 ? month + 89 : month + 1) * 100 + 1;
}

export function csvResponse(name: string, lines: AsyncGenerator<string>): Response {
  return new Response(textStream(lines), {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="tollgate-${name}.csv"`,
    },
  });
}
