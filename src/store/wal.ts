import { close, fdatasync, fstatSync, openSync } from 'node:fs';
import type { Database } from 'bun:sqlite';
import type { Log } from '../std/log.ts';
import type { BackgroundThread } from './background-thread.ts';

/**
 * With more frames than this (32 MB) that are not yet in the database, they are copied there. Whoever writes first after
 * that waits for the disk, on the main thread: SQLite syncs the header of a WAL that begins anew. So it is rare.
 */
const GROWN_FRAMES = 8_192;
const MAX_QUIET_MS = 200;
/**
 * How often its length is checked: there may be a thousand syncs in a second, and few frames come within this time.
 */
const LOOK_EVERY_MS = 20;

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
  #quietUntil = 0;
  #lookAt = 0;
  #checkpoint: Promise<void> | undefined;

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

  /**
   * Copies the WAL into the database, on the background thread, and lets the next writer start it anew. The first pass
   * does most of the work while writers continue; the second keeps them out for the moment it takes to copy what came
   * meanwhile. Without it a WAL under steady load would grow for ever.
   */
  checkpoint(): Promise<void> {
    this.#checkpoint ??= this.#passAndRestart().finally(() => {
      this.#checkpoint = undefined;
      this.#quietUntil = 0;
    });
    return this.#checkpoint;
  }

  /** A busy writer leaves no gap for the second pass to slip in, so it is asked to hold back for a moment. */
  wantsQuiet(): boolean {
    return this.#quietUntil > 0 && performance.now() < this.#quietUntil;
  }

  /** Waits for the syncs that were asked for. */
  async close(): Promise<void> {
    while (this.#next || this.#syncing) {
      // The caller of the sync gets its failure; here only its end matters.
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
      this.#checkpointIfGrown();
      this.#start();
    });
  }

  #checkpointIfGrown(): void {
    const now = performance.now();
    if (now < this.#lookAt) return;
    this.#lookAt = now + LOOK_EVERY_MS;
    if (this.#pendingFrames() > GROWN_FRAMES) this.#startCheckpoint();
  }

  /** NOOP only reports; a transaction in progress on this connection would make it fail, and the next sync asks again. */
  #pendingFrames(): number {
    const { connection } = this.#options;
    if (connection.inTransaction) return 0;
    const [row] = connection.query<unknown, []>('PRAGMA wal_checkpoint(NOOP)').values();
    const [, frames, copied] = row ?? [];
    return Number(frames) - Number(copied);
  }

  #startCheckpoint(): void {
    this.checkpoint().catch((error: unknown) => this.#options.log.error('checkpoint_failed', { error }));
  }

  async #passAndRestart(): Promise<void> {
    const { background } = this.#options;
    await background.query('PRAGMA wal_checkpoint(PASSIVE)');
    this.#quietUntil = performance.now() + MAX_QUIET_MS;
    await background.query('PRAGMA wal_checkpoint(RESTART)');
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

interface WalOptions {
  readonly path: string;
  /** Asked how many frames of the WAL are not in the database yet. */
  readonly connection: Database;
  readonly background: BackgroundThread;
  readonly log: Log;
}
