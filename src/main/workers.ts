import type { Subprocess } from 'bun';
import type { Log } from '../std/log.ts';

/** Tells a process that it is one of several on the same port, and which one. */
export const WORKER_VARIABLE = 'TOLLGATE_WORKER';
/** A worker that refuses its configuration: starting it again would change nothing. */
export const STARTUP_ERROR_EXIT = 78;

export interface WorkersOptions {
  readonly count: number;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly log: Log;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A worker that ran this long did not fail at startup. */
const STARTED_MS = 60_000;

/**
 * One node for each core, all listening on one port: the kernel deals out the connections, the store keeps them exact.
 * This process only watches: a worker that exits is replaced, a signal is passed on, and the workers end when it ends.
 */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #alive = new Set<Subprocess>();
  readonly #ready = new Set<Subprocess>();
  readonly #runs: Promise<void>[] = [];
  #stopping = false;
  #exitCode = 0;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Starts them, the first one ahead of the others, and resolves with the exit code when the last has ended. */
  async run(): Promise<number> {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#pass(signal));
    const firstIsReady = Promise.withResolvers<void>();
    this.#runs.push(this.#keepRunning(0, firstIsReady.resolve));
    // Migrations and the setup link are the first one's: the others find them done.
    await Promise.race([firstIsReady.promise, this.#runs[0]]);
    for (let index = 1; index < this.#options.count && !this.#stopping; index++) {
      this.#runs.push(this.#keepRunning(index, () => undefined));
    }
    await Promise.all(this.#runs);
    return this.#exitCode;
  }

  /** Every worker reads the catalog again. One that is starting reads it anyway, and might not know the signal yet. */
  reload(): void {
    for (const child of this.#ready) child.kill('SIGHUP');
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
        // One that had not begun to serve has nothing to drain: the signal just ends it.
        if (code !== 0 && isReady) this.#exitCode = 1;
        return;
      }
      if (code === STARTUP_ERROR_EXIT) return this.#giveUp();
      const steady = performance.now() - startedAt > STARTED_MS;
      pauseMs = steady ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      this.#options.log.error('worker exited', { worker: index, code, restart_in_ms: pauseMs });
      await Bun.sleep(pauseMs);
    }
  }

  async #runOnce(index: number, onReady: () => void): Promise<number | null> {
    const { command, env } = this.#options;
    const child = Bun.spawn([...command], {
      env: { ...env, [WORKER_VARIABLE]: String(index) },
      stdio: ['ignore', 'inherit', 'inherit'],
      // The only message is that it is ready.
      ipc: (_, worker) => {
        this.#ready.add(worker);
        onReady();
      },
    });
    this.#alive.add(child);
    await child.exited;
    this.#alive.delete(child);
    this.#ready.delete(child);
    return child.exitCode;
  }

  #pass(signal: NodeJS.Signals): void {
    this.#stopping = true;
    for (const child of this.#alive) child.kill(signal);
  }

  #giveUp(): void {
    this.#exitCode = 1;
    this.#pass('SIGTERM');
  }
}
