/** Months (yyyymm) and days of the ledger are in UTC and plain numbers, so that SQL can compare and group them. */
export function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** yyyymmdd. */
export function dayOf(ms: number): number {
  return monthOf(ms) * 100 + new Date(ms).getUTCDate();
}

export const DAY_MS = 86_400_000;

/** When a day (yyyymmdd) began. */
export function dayStart(day: number): number {
  return Date.UTC(Math.floor(day / 10_000), (Math.floor(day / 100) % 100) - 1, day % 100);
}

/** When the day of a moment began. */
export function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** Periods of the UTC calendar; a week begins on Monday. `total` is one that never ends. */
export type Period = 'day' | 'week' | 'month' | 'total';

/** When the period that contains a moment began. */
export function periodStart(per: Period, ms: number): number {
  const day = Math.floor(ms / DAY_MS);
  switch (per) {
    case 'day':
      return startOfDay(ms);
    case 'week':
      return (day - ((day + DAYS_BEFORE_THURSDAY) % 7)) * DAY_MS;
    case 'month':
      return Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth());
    case 'total':
      return 0;
  }
}

/** 1970 began on a Thursday. */
const DAYS_BEFORE_THURSDAY = 3;

/** When the next period begins; `undefined`: never. */
export function periodEnd(per: Period, ms: number): number | undefined {
  const start = periodStart(per, ms);
  switch (per) {
    case 'day':
      return start + DAY_MS;
    case 'week':
      return start + 7 * DAY_MS;
    case 'month':
      return Date.UTC(new Date(start).getUTCFullYear(), new Date(start).getUTCMonth() + 1);
    case 'total':
      return undefined;
  }
}

/** Quarters of an hour since 1970: every time zone in use is a whole number of them away from UTC. */
export const QUARTER_MS = 900_000;
export const DAY_QUARTERS = 96;
const MINUTE_MS = 60_000;

/** From this quarter on, local time is this many quarters ahead of UTC. */
export interface ZoneOffset {
  readonly from: number;
  readonly offset: number;
}

/** Whether this is the name of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(zone: string): boolean {
  try {
    return offsetFormat(zone) !== undefined;
  } catch {
    return false;
  }
}

/** The offsets of a zone between two quarters, in order: one, and one more for each change of its clocks. */
export function zoneOffsets(zone: string, from: number, to: number): readonly ZoneOffset[] {
  const format = offsetFormat(zone);
  const offsets = [{ from, offset: offsetAt(format, from) }];
  let before = from;
  while (before < to) {
    const next = Math.min(before + DAY_QUARTERS, to);
    const offset = offsetAt(format, next);
    if (offset !== offsets.at(-1)?.offset) offsets.push({ from: firstAfter(format, before, next), offset });
    before = next;
  }
  return offsets;
}

/** The first quarter with the offset of `next`: clocks change at most once a day. */
function firstAfter(format: Intl.DateTimeFormat, before: number, next: number): number {
  const offset = offsetAt(format, next);
  let [low, high] = [before, next];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(format, middle) === offset) high = middle;
    else low = middle;
  }
  return high;
}

function offsetFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
}

/** `GMT+05:30` → 22 */
function offsetAt(format: Intl.DateTimeFormat, quarter: number): number {
  const part = format.formatToParts(quarter * QUARTER_MS).find(({ type }) => type === 'timeZoneName');
  const [, sign, hours, minutes = '0'] = /([+-])(\d+)(?::(\d+))?/.exec(part?.value ?? '') ?? [];
  if (hours === undefined) return 0;
  const ahead = ((Number(hours) * 60 + Number(minutes)) * MINUTE_MS) / QUARTER_MS;
  return Math.floor(sign === '-' ? -ahead : ahead);
}
