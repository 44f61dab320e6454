/** Months and days of the books are UTC and plain numbers, so that they compare and group without a calendar. */
export function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** yyyymmdd. */
export function dayOf(ms: number): number {
  return monthOf(ms) * 100 + new Date(ms).getUTCDate();
}
