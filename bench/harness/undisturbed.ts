import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** Of the machine's time, while something was measured. */
const MOST_STOLEN = 0.05;
const MOST_ATTEMPTS = 20;
const PAUSE_MS = 200;
/** The kernel counts stolen time in steps of this length, and at the end of each. */
const TICK_MS = 10;
const PROC_STAT = '/proc/stat';
const STEAL_COLUMN = 8;

/**
 * Measures again what was measured while the host of a virtual machine gave its time to others: that says nothing about
 * the program. Only Linux tells; elsewhere everything is measured once.
 */
export class UndisturbedRounds {
  #measured = 0;
  #repeated = 0;
  #disturbed = 0;

  /** `prepare` comes before each attempt and is not measured. */
  async of<Result>(measure: () => Promise<Result>, prepare?: () => Promise<void>): Promise<Result> {
    this.#measured++;
    for (let attempt = 1; ; attempt++) {
      await prepare?.();
      const [start, stolenBefore] = [performance.now(), stolenMs()];
      const result = await measure();
      const passedMs = performance.now() - start;
      await Bun.sleep(TICK_MS);
      if (stolenMs() - stolenBefore <= passedMs * cpus().length * MOST_STOLEN) return result;
      if (attempt === MOST_ATTEMPTS) {
        this.#disturbed++;
        return result;
      }
      this.#repeated++;
      await Bun.sleep(PAUSE_MS);
    }
  }

  summary(): string {
    return `${this.#measured} rounds. Measured again because the host of this virtual machine took more than ${MOST_STOLEN * 100} % of its time meanwhile: ${this.#repeated}. Kept although it did so ${MOST_ATTEMPTS} times in a row: ${this.#disturbed}.`;
  }
}

function stolenMs(): number {
  try {
    const ticks = readFileSync(PROC_STAT, 'latin1').split('\n', 1)[0]?.split(/\s+/)[STEAL_COLUMN];
    return Number(ticks ?? 0) * TICK_MS;
  } catch {
    return 0;
  }
}
