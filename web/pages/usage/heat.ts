import type { UsageHeatMap } from '../../lib/answers.ts';
import { dateFormatter } from '../../lib/time.ts';

type UsageCell = UsageHeatMap['cells'][number];

export const HOURS = 24;
const WEEKDAYS = 7;
/** Shades besides the one for zero. */
export const LEVELS = 5;

/** Seven rows of 24 values, Monday first. */
export function heatRows({ cells }: UsageHeatMap, value: (cell: UsageCell) => number): number[][] {
  const rows = Array.from({ length: WEEKDAYS }, () => Array.from({ length: HOURS }, () => 0));
  for (const cell of cells) {
    const row = rows[cell.weekday];
    if (row) row[cell.hour] = value(cell);
  }
  return rows;
}

/** 0 for nothing, then 1 to 5, by the square root: beside one very busy hour the others stay distinguishable. */
export function levelOf(value: number, most: number): number {
  return value <= 0 ? 0 : Math.max(1, Math.ceil(LEVELS * Math.sqrt(value / most)));
}

export interface Place {
  readonly weekday: number;
  readonly hour: number;
}

/** The cell that a key moves to; undefined for other keys. */
export function nextPlace(key: string, at: Place | undefined): Place | undefined {
  const { weekday, hour } = at ?? { weekday: 0, hour: 0 };
  const isStart = at === undefined;
  switch (key) {
    case 'ArrowRight':
      return isStart ? { weekday, hour } : { weekday, hour: Math.min(hour + 1, HOURS - 1) };
    case 'ArrowLeft':
      return { weekday, hour: Math.max(hour - 1, 0) };
    case 'ArrowDown':
      return isStart ? { weekday, hour } : { weekday: Math.min(weekday + 1, WEEKDAYS - 1), hour };
    case 'ArrowUp':
      return { weekday: Math.max(weekday - 1, 0), hour };
    case 'Home':
      return { weekday, hour: 0 };
    case 'End':
      return { weekday, hour: HOURS - 1 };
    default:
      return undefined;
  }
}

/** 5 January 1970 was a Monday. */
const MONDAY = Date.UTC(1970, 0, 5);
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export function weekdayName(weekday: number, language: string, style: 'short' | 'long'): string {
  return dateFormatter(language, { weekday: style, timeZone: 'UTC' }).format(MONDAY + weekday * DAY_MS);
}

/** `02:00` or `2:00 AM`, as the language has it. */
export function hourName(hour: number, language: string): string {
  const options = { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' } as const;
  return dateFormatter(language, options).format(MONDAY + hour * HOUR_MS);
}

export function hourSpan(hour: number, language: string): string {
  return `${hourName(hour, language)} – ${hourName((hour + 1) % HOURS, language)}`;
}
