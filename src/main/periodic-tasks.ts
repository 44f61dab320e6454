import type { Log } from '../std/log.ts';

export interface PeriodicTask {
  readonly name: string;
  readonly everyMs: number;
  /** The most of all time that it may take: one that has become slow gets its turn less often. */
  readonly mostOfTime?: number;
  run(): Promise<unknown>;
}

/** What must be done now and then. A chore that fails is told once per failure and tried again at its next turn. */
export class PeriodicTasks {
  readonly #timers: Timer[];
  readonly #running = new Set<Promise<void>>();

  constructor(chores: readonly PeriodicTask[], log: Log) {
    this.#timers = chores.map((chore) => {
      // A chore that takes longer than its turn is not started twice.
      let notBefore = 0;
      return setInterval(() => {
        const began = performance.now();
        if (began < notBefore) return;
        notBefore = Number.POSITIVE_INFINITY;
        const run = runChore(chore, log).finally(() => {
          notBefore = began + (performance.now() - began) / (chore.mostOfTime ?? 1);
          this.#running.delete(run);
        });
        this.#running.add(run);
      }, chore.everyMs);
    });
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#running);
  }
}

async function runChore(chore: PeriodicTask, log: Log): Promise<void> {
  try {
    await chore.run();
  } catch (error) {
    log.warn('periodic task failed', { chore: chore.name, error });
  }
}
