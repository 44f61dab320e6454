import { Database } from 'bun:sqlite';
import { isBusy } from './bun-sqlite.ts';

/** Who serves from a data folder. The claim is a lock of the operating system, so it ends with its process, however that ends. */
export class DataDirLock {
  readonly #path: string;
  #holder: Database | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  take(): boolean {
    if (this.#holder) return true;
    const holder = new Database(this.#path, { create: true, readwrite: true });
    try {
      // An empty database that is never written: SQLite is used for its portable file lock only.
      holder.run('PRAGMA journal_mode = MEMORY');
      holder.run('BEGIN EXCLUSIVE');
      this.#holder = holder;
      return true;
    } catch (error) {
      holder.close();
      if (isBusy(error)) return false;
      throw error;
    }
  }

  release(): void {
    this.#holder?.close();
    this.#holder = undefined;
  }
}
