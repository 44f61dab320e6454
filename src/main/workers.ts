import type { Subprocess } from 'bun';
import type { Log } from '../std/log.ts';

/** Tells a process that it is one of several on the same port, and which one. */
export const WORKER = 'TOLLGATE_WORKER';
/** A worker that refuses its configuration: starting it again would change nothing. */
export const REFUSED = 78;

export interface WorkersOptions {
  readonly count: number;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly log: Log;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Who lived so long did not die of its start. */
const STEADY_MS = 60_000;

/**
 * One node for each core, all listening on one port: the kernel deals out the connections, the store keeps them exact.
 * This process only watches: a worker that dies is replaced, a signal is passed on, and its own death ends the workers.
 */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #alive = new Set<Subprocess>();
  readonly #ready = new Set<Subprocess>();
  readonly #lives: Promise<void>[] = [];
  #stopping = false;
  #exitCode = 0;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Starts them, the first one ahead of the others, and resolves with the exit code when the last has ended. */
  async run(): Promise<number> {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#pass(signal));
    const firstIsReady = Promise.withResolvers<void>();
    this.#lives.push(this.#keep(0, firstIsReady.resolve));
    // Migrations and the setup link are the first one's: the others find them done.
    await Promise.race([firstIsReady.promise, this.#lives[0]]);
    for (let index = 1; index < this.#options.count && !this.#stopping; index++) {
      this.#lives.push(this.#keep(index, () => undefined));
    }
    await Promise.all(this.#lives);
    return this.#exitCode;
  }

  /** Every worker reads the catalog again. One that is starting reads it anyway, and might not know the signal yet. */
  reload(): void {
    for (const child of this.#ready) child.kill('SIGHUP');
  }

  async #keep(index: number, onReady: () => void): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.#stopping) {
      const startedAt = performance.now();
      let isReady = false;
      const code = await this.#life(index, () => {
        isReady = true;
        onReady();
      });
      if (this.#stopping) {
        // One that had not begun to serve has nothing to drain: the signal just ends it.
        if (code !== 0 && isReady) this.#exitCode = 1;
        return;
      }
      if (code === REFUSED) return this.#giveUp();
      const steady = performance.now() - startedAt > STEADY_MS;
      pauseMs = steady ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      this.#options.log.error('worker died', { worker: index, code, again_in_ms: pauseMs });
      await Bun.sleep(pauseMs);
    }
  }

  async #life(index: number, onReady: () => void): Promise<number | null> {
    const { command, env } = this.#options;
    const child = Bun.spawn([...command], {
      env: { ...env, [WORKER]: String(index) },
      stdio: ['ignore', 'inherit', 'inherit'],
      // Its only word is that it is ready.
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
