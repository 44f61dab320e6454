/** Months (yyyymm) and days of the ledger are in UTC and plain numbers, so that SQL can compare and group them. */
export function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** yyyymmdd. */
export function dayOf(ms: number): number {
  return monthOf(ms) * 100 + new Date(ms).getUTCDate();
}
