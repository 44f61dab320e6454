import { Database } from 'bun:sqlite';
import { isBusy } from './bun-sqlite.ts';

/** Marks a data folder as served by this process. It is a file lock, so the operating system releases it when the process ends. */
export class DataDirLock {
  readonly #path: string;
  #connection: Database | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  take(): boolean {
    if (this.#connection) return true;
    const connection = new Database(this.#path, { create: true, readwrite: true });
    try {
      // An empty database that is never written: SQLite is used for its portable file lock only.
      connection.run('PRAGMA journal_mode = MEMORY');
      connection.run('BEGIN EXCLUSIVE');
      this.#connection = connection;
      return true;
    } catch (error) {
      connection.close();
      if (isBusy(error)) return false;
      throw error;
    }
  }

  release(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}
