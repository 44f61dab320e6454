/** Times until the first token, or until an image is there, are counted up to each of these, and longer ones apart. */
export const WAIT_BOUNDS_MS = [
  20, 30, 40, 50, 65, 80, 100, 125, 150, 200, 250, 300, 400, 500, 650, 800, 1_000, 1_250, 1_500, 2_000, 2_500, 3_000,
  4_000, 5_000, 6_500, 8_000, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000,
] as const; // prettier-ignore

/** The same of output tokens per second. */
export const SPEED_BOUNDS = [
  1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 65, 80, 100, 125, 150, 200, 250, 300, 400, 500, 650, 800, 1_000, 2_000,
] as const; // prettier-ignore

/** How many values lie up to each bound, and beyond the last one. */
export type BucketCounts = readonly number[];

export function addCounts(a: BucketCounts, b: BucketCounts): BucketCounts {
  return Array.from(
    { length: Math.max(a.length, b.length) },
    (_, place) => (a[place] ?? 0) + (b[place] ?? 0),
  );
}

export function totalOf(counts: BucketCounts): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The value below which `share` of the values lie, evenly spread between two bounds; those beyond the last one count as it. */
export function quantileOf(counts: BucketCounts, bounds: readonly number[], share: number): number {
  const wanted = share * totalOf(counts);
  let below = 0;
  for (const [place, count] of counts.entries()) {
    const to = bounds[place];
    if (to === undefined) break;
    if (count > 0 && below + count >= wanted) {
      const from = bounds[place - 1] ?? 0;
      return from + ((to - from) * (wanted - below)) / count;
    }
    below += count;
  }
  return bounds.at(-1) ?? 0;
}

/** The place of a value among the bounds, as SQL. */
export function bucketSql(value: string, bounds: readonly number[]): string {
  const cases = bounds.map((bound, place) => `WHEN ${value} <= ${bound} THEN ${place}`);
  return `CASE ${cases.join(' ')} ELSE ${bounds.length} END`;
}
