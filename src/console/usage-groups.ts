import type { Kysely } from 'kysely';
import type { Reader } from '../activity/reader.ts';
import { sumUsage, type UsageSums } from '../activity/usage.ts';
import type { UsageByHour } from '../activity/usage-by-hour.ts';
import {
  minus,
  usageDaysByModel,
  type UsageFilter,
  type UsageOfDay,
  type UsageOfDayAndEndpoint,
  type UsageOfDayAndModel,
  type UsageOfModel,
} from '../activity/usage-sums.ts';
import { QUARTER_MS } from '../std/calendar.ts';
import type { Schema } from '../store/schema.ts';
import { dayText, usd } from './amounts.ts';
import type { Day, Millis } from './contract.ts';

export const GROUPINGS = ['model', 'endpoint', 'client', 'hour', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];
export const MEASURES = ['spend', 'requests', 'tokens', 'images'] as const;
type Measure = (typeof MEASURES)[number];

/** The sums from which every grouping is made. */
export interface UsageRead {
  readonly at: { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };
  readonly filter: UsageFilter;
  readonly days: readonly UsageOfDay[];
  /** The models with the largest charge, if they are shown. */
  readonly models: readonly UsageOfModel[];
  /** The same of endpoints, all of them. */
  readonly endpointDays: readonly UsageOfDayAndEndpoint[];
  readonly counted: UsageByHour;
  readonly zone: string;
  readonly measure: Measure;
}

/** In the table or in the chart. */
export function showsModels(by: Grouping): boolean {
  return by !== 'endpoint' && by !== 'client';
}

export const MAX_GROUPS = 200;
const CHART_SERIES = 8;

interface SummedGroup extends UsageSums {
  readonly day?: Day;
  readonly endpoint?: string;
  readonly model?: string;
  readonly client?: string;
  /** When an hour of the asked time zone began. */
  readonly hour?: Millis;
}

/** The lines of the table, the largest charge first, days and hours newest first. */
export async function groupsBy(by: Grouping, read: UsageRead): Promise<readonly SummedGroup[]> {
  const { counted, zone } = read;
  switch (by) {
    case 'model':
      return read.models;
    case 'endpoint':
      return endpointSums(read.endpointDays);
    case 'client':
      return await counted.byClient(MAX_GROUPS);
    case 'hour':
      return newest(await counted.byHour(zone, MAX_GROUPS)).map(([quarter, sums]) => ({
        ...sums,
        hour: quarter * QUARTER_MS,
      }));
    case 'day':
      return read.days.toReversed().map((row) => ({ ...row, day: dayText(row.day) }));
    default:
      return by satisfies never;
  }
}

function newest(hours: ReadonlyMap<number, UsageSums>): [number, UsageSums][] {
  return [...hours].toSorted(([a], [b]) => b - a).slice(0, MAX_GROUPS);
}

/** The largest charge first. */
function endpointSums(
  days: readonly UsageOfDayAndEndpoint[],
): (UsageSums & Pick<UsageOfDayAndEndpoint, 'endpoint'>)[] {
  const groups = Map.groupBy(days, ({ endpoint }) => endpoint);
  return [...groups]
    .map(([endpoint, own]) => ({ endpoint, ...sumUsage(own) }))
    .toSorted((a, b) => b.charged - a.charged || (a.endpoint < b.endpoint ? -1 : 1));
}

/** What the chart stacks: endpoints and clients where the table has them, otherwise models. */
export async function chartRows(by: Grouping, read: UsageRead): Promise<ChartRow[]> {
  const { at, filter, days, counted } = read;
  switch (by) {
    case 'endpoint':
      return read.endpointDays.map((row) => chartRow(row.day, row.endpoint, row));
    case 'client': {
      const named = largest(await counted.byClient(MAX_GROUPS), read.measure).map(({ client }) => client);
      const rows = await counted.clientDays(named);
      return withRest(days, rows).map(({ day, client, sums }) => chartRow(day, client ?? null, sums));
    }
    case 'model':
    case 'hour':
    case 'day': {
      const rows = await usageDaysByModel(at, filter, days, largest(read.models, read.measure));
      return rows.map(modelRow);
    }
    default:
      return by satisfies never;
  }
}

/** Each day's rows, and what is left of the day without them. */
function withRest(
  days: readonly UsageOfDay[],
  rows: readonly (UsageSums & { day: number; client: string })[],
) {
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return days.flatMap(({ day, ...whole }) => {
    const own = byDay.get(day) ?? [];
    const named = own.map((row): { day: number; client?: string; sums: UsageSums } => ({
      day,
      client: row.client,
      sums: row,
    }));
    const rest = minus(whole, own);
    return rest.requests > 0 ? [...named, { day, sums: rest }] : named;
  });
}

const VALUES: Record<Measure, (sums: UsageSums) => number> = {
  spend: (sums) => sums.charged,
  requests: (sums) => sums.requests,
  tokens: (sums) => sums.input_tokens + sums.output_tokens,
  images: (sums) => sums.images,
};

function largest<Row extends UsageSums>(rows: readonly Row[], measure: Measure): Row[] {
  const value = VALUES[measure];
  return rows.toSorted((a, b) => value(b) - value(a)).slice(0, CHART_SERIES);
}

/** The others together have no model. */
export function modelRow(row: UsageOfDayAndModel) {
  return chartRow(row.day, row.model === '' ? null : row.model, row);
}

type ChartRow = ReturnType<typeof chartRow>;

/** Of the others together the name is null; it is empty for a client that did not say what it is. */
function chartRow(day: number, name: string | null, sums: UsageSums) {
  return { day: dayText(day), name, ...usageCounts(sums) };
}

/** The fields by which it was not grouped are null. */
export function usageGroup({ day, endpoint, model, client, hour, ...sums }: SummedGroup) {
  return {
    day: day ?? null,
    endpoint: endpoint ?? null,
    model: model ?? null,
    client: client ?? null,
    hour: hour ?? null,
    ...usageSaved(sums),
  };
}

export function othersOf(totals: UsageSums, groups: readonly UsageSums[]) {
  const rest = minus(totals, groups);
  return rest.requests > 0 ? usageSaved(rest) : null;
}

export function usageSaved(sums: UsageSums) {
  return {
    ...usageCounts(sums),
    /** How much more it would have cost had no input been cached. */
    savedUsd: usd(sums.saved),
  };
}

/** `inputTokens` includes `cachedTokens`; `outputTokens` includes `reasoningTokens`. */
export function usageCounts(sums: UsageSums) {
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
