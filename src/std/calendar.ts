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

/** Periods of the UTC calendar; a week begins on Monday. `total` is one that never ends. */
export type Period = 'day' | 'week' | 'month' | 'total';

/** When the period that contains a moment began. */
export function periodStart(per: Period, ms: number): number {
  const day = Math.floor(ms / DAY_MS);
  switch (per) {
    case 'day':
      return day * DAY_MS;
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
