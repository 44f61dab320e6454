import type { Subprocess } from 'bun';
import type { Log } from '../std/log.ts';
import { MetricsOfAll, type WorkerMessage } from './worker-metrics.ts';

/** The environment variable that tells a process that it is one of several on the same port, and which one. */
export const WORKER_VARIABLE = 'TOLLGATE_WORKER';
/** The exit code of a worker whose configuration is invalid: restarting it would not help. */
export const STARTUP_ERROR_EXIT = 78;

interface WorkersOptions {
  readonly count: number;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly log: Log;
}

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** A worker that ran this long did not fail at startup. */
const STARTED_MS = 60_000;

/**
 * Several nodes that listen on one port: the kernel distributes the connections, and the shared store keeps the
 * accounting exact. This process only supervises: it replaces a worker that exits, forwards signals, and the workers
 * stop when it exits.
 */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #alive = new Set<Subprocess>();
  readonly #ready = new Set<Subprocess>();
  readonly #runs: Promise<void>[] = [];
  readonly #metrics = new MetricsOfAll<Subprocess>();
  #stopping = false;
  #exitCode = 0;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Starts the first worker, then the others; resolves with the exit code when the last one has exited. */
  async run(): Promise<number> {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#forward(signal));
    const firstIsReady = Promise.withResolvers<void>();
    this.#runs.push(this.#keepRunning(0, firstIsReady.resolve));
    // The first worker runs the migrations and makes the setup link before the others start.
    await Promise.race([firstIsReady.promise, this.#runs[0]]);
    for (let index = 1; index < this.#options.count && !this.#stopping; index++) {
      this.#runs.push(this.#keepRunning(index, () => undefined));
    }
    await Promise.all(this.#runs);
    return this.#exitCode;
  }

  /** Makes every worker reload the catalog, or profile itself. One that is starting may not handle the signal yet. */
  tell(signal: 'SIGHUP' | 'SIGUSR2'): void {
    for (const child of this.#ready) child.kill(signal);
  }

  async #keepRunning(index: number, onReady: () => void): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.#stopping) {
      const startedAt = performance.now();
      let isReady = false;
      const code = await this.#runOnce(index, () => {
        isReady = true;
        onReady();
      });
      if (this.#stopping) {
        // A worker that was not ready yet has nothing to drain: the signal just terminates it.
        if (code !== 0 && isReady) this.#exitCode = 1;
        return;
      }
      if (code === STARTUP_ERROR_EXIT) return this.#stopAfterStartupError();
      const isStable = performance.now() - startedAt > STARTED_MS;
      pauseMs = isStable ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, MAX_PAUSE_MS);
      this.#options.log.error('worker_exited', { worker: index, code, restart_in_ms: pauseMs });
      await Bun.sleep(pauseMs);
    }
  }

  async #runOnce(index: number, onReady: () => void): Promise<number | null> {
    const { command, env } = this.#options;
    const child = Bun.spawn([...command], {
      env: { ...env, [WORKER_VARIABLE]: String(index) },
      stdio: ['ignore', 'inherit', 'inherit'],
      // Nobody else sends messages to this process.
      ipc: (message: WorkerMessage, worker) => {
        if (message !== 'ready') return void this.#metrics.take(message, worker, () => this.#ready);
        this.#ready.add(worker);
        onReady();
      },
    });
    this.#alive.add(child);
    await child.exited;
    this.#alive.delete(child);
    this.#ready.delete(child);
    this.#metrics.exited(child);
    return child.exitCode;
  }

  #forward(signal: NodeJS.Signals): void {
    this.#stopping = true;
    for (const child of this.#alive) child.kill(signal);
  }

  #stopAfterStartupError(): void {
    this.#exitCode = 1;
    this.#forward('SIGTERM');
  }
}
