import { Worker } from 'node:worker_threads';
import { storeUnavailable } from '../std/fault.ts';
import { hasSpareFiles } from '../std/open-files.ts';
import type { ConnectionPool } from './connection-pool.ts';

/**
 * A second thread with a connection of its own, for slow work of SQLite: copying the WAL into the database, and
 * queries that read everything. It starts with its first task, so that small installations never pay for it.
 */
export class BackgroundThread {
  readonly #path: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown[]>>();
  #worker: Worker | undefined;
  #lastId = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Runs one statement and returns its rows. The caller names the type of the rows, which its SQL must match. */
  query<R>(sql: string, parameters: readonly (string | number)[] = []): Promise<R[]> {
    if (this.#waiting.size >= MAX_WAITING)
      return Promise.reject(storeUnavailable(undefined, 'the side thread has too much to do'));
    if (!this.#worker && !hasSpareFiles())
      return Promise.reject(
        storeUnavailable(undefined, 'the side thread cannot start: too many files are open'),
      );
    const id = ++this.#lastId;
    const task = Promise.withResolvers<unknown[]>();
    this.#waiting.set(id, task);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#started().postMessage({ id, path: this.#path, sql, parameters });
    return task.promise as Promise<R[]>;
  }

  async close(): Promise<void> {
    if (!this.#worker) return;
    // Its connection is closed by its own thread; ending the thread alone would leave SQLite's locks behind.
    await this.query('close').catch(() => undefined);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #started(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(PROGRAM, { eval: true });
    worker.unref();
    worker.on('message', (reply: Reply) => this.#settle(reply));
    worker.on('error', (error) => this.#fail(worker, String(error)));
    worker.on('exit', () => this.#fail(worker, 'ended'));
    this.#worker = worker;
    return worker;
  }

  #settle(reply: Reply): void {
    const task = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.error === undefined) task?.resolve(reply.rows);
    else task?.reject(new Error(reply.error));
  }

  /** The thread is gone: what waited for it fails, and the next task starts another one. */
  #fail(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const tasks = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const task of tasks) task.reject(new Error(`the side thread failed: ${reason}`));
  }
}

interface Reply {
  readonly id: number;
  readonly rows: unknown[];
  readonly error?: string | undefined;
}

const MAX_WAITING = 1_000;

/** As text, so that it is found in a single-file build too. Here, unlike on the main thread, SQLite may wait for locks. */
const PROGRAM = `
const { parentPort } = require('node:worker_threads');
const { Database } = require('bun:sqlite');
let database;
function open(path) {
  database = new Database(path, { readwrite: true, create: false });
  database.run('PRAGMA busy_timeout = 5000');
  database.run('PRAGMA synchronous = NORMAL');
  // A scan of everything reads each inner page of an index again and again; SQLite's own 2 MB would not keep them.
  database.run('PRAGMA cache_size = -32000');
}
parentPort.on('message', ({ id, path, sql, parameters }) => {
  let rows = [];
  try {
    if (sql === 'close') {
      database?.close();
      database = undefined;
    } else {
      if (!database) open(path);
      const statement = database.prepare(sql);
      rows = statement.all(...parameters);
      statement.finalize();
    }
    parentPort.postMessage({ id, rows });
  } catch (error) {
    parentPort.postMessage({ id, rows: [], error: String(error) });
  }
});
`;

/** Reads with `?` for each value. The caller names the row's type, which its SQL must keep. */
export type SlowQuery = <Row>(text: string, values: readonly (string | number)[]) => Promise<Row[]>;

interface ReadStore {
  readonly backend:
    | { readonly kind: 'sqlite'; readonly background: BackgroundThread }
    | { readonly kind: 'postgres'; readonly pool: ConnectionPool };
}

/** For what reads many rows: on SQLite not on the thread that serves requests. */
export function slowQuery({ backend }: ReadStore): SlowQuery {
  if (backend.kind === 'sqlite') return (text, values) => backend.background.query(text, values);
  return async <Row>(text: string, values: readonly (string | number)[]) => {
    const { rows } = await backend.pool.query(numbered(text), [...values]);
    return rows as Row[];
  };
}

/** With the values as Postgres numbers them. */
export function numbered(text: string): string {
  let place = 0;
  return text.replaceAll('?', () => `$${++place}`);
}
