/** Time is passed in as a parameter, so that tests control it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/**
 * A machine's clock, corrected by how far it is ahead of the database's, which all nodes share and by which the ledger
 * books. Ids of requests carry their time: with a wrong one they would be missing in lists and exports of their day.
 */
export class CorrectedClock implements Clock {
  readonly #machine: Clock;
  /** Negative if the machine is behind. */
  aheadMs = 0;

  constructor(machine: Clock) {
    this.#machine = machine;
  }

  now(): number {
    return this.#machine.now() - Math.round(this.aheadMs);
  }
}
