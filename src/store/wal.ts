import { close, fdatasync, fstatSync, openSync } from 'node:fs';

/** When the WAL has so many frames (8 MB) that are not yet in the database, it is time to copy them there. */
const GROWN_FRAMES = 2_048;

/**
 * Makes commits survive a power cut without stopping the event loop. SQLite commits with `synchronous=NORMAL`, which
 * appends to the WAL without waiting for the disk; then the WAL file is synced on another thread. One sync is in flight
 * at a time and the next covers all that came meanwhile.
 *
 * This holds through checkpoints: before SQLite reuses the WAL it has synced both the WAL and the pages it copied out
 * of it. The database file itself is never opened here: closing it would drop SQLite's locks (POSIX).
 */
export class Wal {
  readonly #options: WalOptions;
  #descriptor: number | undefined;
  #syncing = false;
  #next: PromiseWithResolvers<void> | undefined;

  constructor(options: WalOptions) {
    this.#options = options;
  }

  /** Resolves when all that was committed before the call is on the disk. */
  sync(): Promise<void> {
    this.#next ??= Promise.withResolvers<void>();
    const { promise } = this.#next;
    this.#start();
    return promise;
  }

  /** Waits for the syncs that were asked for. */
  async close(): Promise<void> {
    while (this.#next || this.#syncing) {
      // Who asked for the sync hears of its failure; here only its end matters.
      await this.sync().catch(() => undefined);
    }
    this.#forget();
  }

  #start(): void {
    if (this.#syncing || !this.#next) return;
    const waiting = this.#next;
    this.#next = undefined;
    let descriptor: number;
    try {
      descriptor = this.#current();
    } catch (error) {
      // No WAL: nothing was written since the last one was copied into the database.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') waiting.resolve();
      else waiting.reject(error);
      return;
    }
    this.#syncing = true;
    fdatasync(descriptor, (error) => {
      this.#syncing = false;
      if (error) waiting.reject(error);
      else waiting.resolve();
      if (this.#options.pendingFrames() > GROWN_FRAMES) this.#options.onGrown();
      this.#start();
    });
  }

  /** Opens the WAL, again if someone removed it and SQLite made a new one. */
  #current(): number {
    if (this.#descriptor !== undefined && fstatSync(this.#descriptor).nlink === 0) this.#forget();
    this.#descriptor ??= openSync(this.#options.path, 'r');
    return this.#descriptor;
  }

  #forget(): void {
    if (this.#descriptor !== undefined) close(this.#descriptor);
    this.#descriptor = undefined;
  }
}

export interface WalOptions {
  readonly path: string;
  /** How many frames of the WAL are not in the database yet. */
  pendingFrames(): number;
  onGrown(): void;
}
