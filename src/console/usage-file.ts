import { csvLine } from '../activity/csv.ts';
import { usageRows, type UsageSums } from '../activity/usage.ts';
import { UsageByHour } from '../activity/usage-by-hour.ts';
import { usageDays, usageDaysByEndpoint } from '../activity/usage-sums.ts';
import { QUARTER_MS } from '../std/calendar.ts';
import { dayText, usd } from './amounts.ts';
import type { RouteParts } from './parts.ts';
import type { Grouping } from './usage-groups.ts';

/** Days are yyyymmdd, both inclusive, UTC. */
export interface DayRange {
  readonly from: number;
  readonly to: number;
}

interface FileQuery extends DayRange {
  readonly accountId: string;
  readonly by: Grouping;
  readonly zone: string;
}

const KEYS: Record<Grouping, readonly string[]> = {
  model: ['day', 'endpoint', 'model'],
  endpoint: ['day', 'endpoint'],
  client: ['day', 'client'],
  hour: ['hour'],
  day: ['day'],
};
export const USAGE_COUNTS = [
  'requests', 'failures', 'input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens', 'images', 'charged_usd',
  'saved_usd',
]; // prettier-ignore

interface FileLine {
  readonly key: readonly string[];
  readonly sums: UsageSums;
}

/** One line per day and what it is grouped by, or per hour. Month by month, so that a year of many models is never in memory at once. */
export async function* usageFile(parts: RouteParts, query: FileQuery): AsyncGenerator<string> {
  yield csvLine([...KEYS[query.by], ...USAGE_COUNTS]);
  for (const month of monthsOf(query)) {
    const lines = await monthLines(parts, { ...query, ...month });
    if (lines.length > 0) yield lines.map(({ key, sums }) => csvLine([...key, ...usageCells(sums)])).join('');
  }
}

export function usageCells(sums: UsageSums): (string | number)[] {
  return [
    sums.requests, sums.failures, sums.input_tokens, sums.cached_tokens, sums.output_tokens, sums.reasoning_tokens,
    sums.images, usd(sums.charged), usd(sums.saved),
  ]; // prettier-ignore
}

async function monthLines(parts: RouteParts, query: FileQuery): Promise<FileLine[]> {
  const at = { db: parts.store.db, reader: parts.reader };
  const counted = () => UsageByHour.read(at, query, usageDays(at, query));
  switch (query.by) {
    case 'model':
      return (await usageRows(at, query.accountId, query)).map((row) =>
        line([dayText(row.day), row.endpoint, row.model], row),
      );
    case 'endpoint':
      return (await usageDaysByEndpoint(at, query)).map((row) => line([dayText(row.day), row.endpoint], row));
    case 'client':
      return (await (await counted()).clientDays())
        .map((row) => line([dayText(row.day), row.client], row))
        .toSorted(byKey);
    case 'hour':
      return [...(await (await counted()).byHour(query.zone))]
        .toSorted(([a], [b]) => a - b)
        .map(([quarter, sums]) => line([localHour(quarter * QUARTER_MS, query.zone)], sums));
    case 'day':
      return (await usageDays(at, query)).map((row) => line([dayText(row.day)], row));
    default:
      return query.by satisfies never;
  }
}

function line(key: readonly string[], sums: UsageSums): FileLine {
  return { key, sums };
}

function byKey(a: FileLine, b: FileLine): number {
  return a.key.join('\n') < b.key.join('\n') ? -1 : 1;
}

/** `2026-10-25T02:00+02:00`: with its distance from UTC, because clocks repeat an hour. */
function localHour(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const part = (name: Intl.DateTimeFormatPartTypes): string => parts.get(name) ?? '';
  const offset = part('timeZoneName').slice('GMT'.length) || '+00:00';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}${offset}`;
}

export function monthsOf({ from, to }: DayRange): DayRange[] {
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
