/** Values counted by upper bounds; what exceeds the last one is only in `count`. */
export interface DistributionSample {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

/** A histogram as a monitoring system reads it. */
export class Distribution implements DistributionSample {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.sum += value;
    this.count++;
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] ?? 0)) index++;
    if (index < this.counts.length) this.counts[index] = (this.counts[index] ?? 0) + 1;
  }
}

/** For how long a database takes, in seconds. */
export const DATABASE_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];
/** For the sizes of batches that go to a database. */
export const BATCH_BOUNDS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500];
