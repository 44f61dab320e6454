import type { Log } from '../std/log.ts';

export interface PeriodicTask {
  readonly name: string;
  readonly everyMs: number;
  /** The largest share of time that it may use: a task that has become slow runs less often. */
  readonly maxTimeShare?: number;
  /** `stopping` is aborted when the server stops and waits for the task. */
  run(stopping: AbortSignal): Promise<unknown>;
}

/** Runs each task at its interval. A failure is logged, and the task runs again at its next interval. */
export class PeriodicTasks {
  readonly #timers: Timer[];
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(tasks: readonly PeriodicTask[], log: Log) {
    this.#timers = tasks.map((task) => {
      // Infinite while the task runs, so that a task that takes longer than its interval is not started twice.
      let notBefore = 0;
      return setInterval(() => {
        const startedAt = performance.now();
        if (startedAt < notBefore) return;
        notBefore = Number.POSITIVE_INFINITY;
        const run = runTask(task, this.#stopping.signal, log).finally(() => {
          notBefore = startedAt + (performance.now() - startedAt) / (task.maxTimeShare ?? 1);
          this.#running.delete(run);
        });
        this.#running.add(run);
      }, task.everyMs);
    });
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#stopping.abort();
    await Promise.all(this.#running);
  }
}

async function runTask(task: PeriodicTask, stopping: AbortSignal, log: Log): Promise<void> {
  try {
    await task.run(stopping);
  } catch (error) {
    log.warn('periodic_task_failed', { task: task.name, error });
  }
}
