import {
  Client,
  DatabaseError,
  type ClientConfig,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
} from 'pg';
import type { Log } from '../std/log.ts';

interface ConnectionPoolOptions {
  readonly client: ClientConfig;
  readonly most: number;
  /** How many connections stay open while unused: a new one takes many round trips. */
  readonly least: number;
  /** How long a caller waits for a connection, whichever it is. */
  readonly waitMs: number;
  /** Runs once on every new connection; one that it fails for is not used. */
  readonly prepare?: ((client: Client) => Promise<unknown>) | undefined;
  readonly log: Log;
}

/**
 * Connections to Postgres, as many as are needed and the database grants.
 *
 * Nobody waits for a particular connection: new ones are opened beside those who wait, who get the first that is free. So
 * a new connection that is refused, or takes long because the database is far away, delays nobody whom another one can
 * serve. Only when there is no other the refusal is everybody's.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #open = new Set<PooledConnection>();
  /** The one that was used last is used next, so that the others can close. */
  readonly #idle: PooledConnection[] = [];
  readonly #waiting = new Set<Waiting>();
  readonly #closed = Promise.withResolvers<void>();
  #opening = 0;
  /** Callers who got no connection. */
  #turnedAway = 0;
  #failedAt = -Infinity;
  #isRefused = false;
  #isClosing = false;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  get most(): number {
    return this.#options.most;
  }

  get clientConfig(): ClientConfig {
    return this.#options.client;
  }

  get load(): PoolLoad {
    const { size: total } = this.#open;
    return { total, idle: this.#idle.length, waiting: this.#waiting.size, turnedAway: this.#turnedAway };
  }

  /** The caller releases it, with `true` where its state is not known. */
  connect(): Promise<PoolClient> {
    if (this.#isClosing) return Promise.reject(new Error('the connections were closed'));
    const idle = this.#idle.pop();
    if (idle) return Promise.resolve(idle.taken());
    if (this.#open.size === 0 && this.#opening === 0 && this.#isResting()) {
      this.#turnedAway++;
      return Promise.reject(new Error('the database was away a moment ago'));
    }
    const { promise, resolve, reject } = Promise.withResolvers<PoolClient>();
    const waiting: Waiting = { resolve, reject, timer: undefined };
    waiting.timer = setTimeout(() => {
      this.#waiting.delete(waiting);
      this.#turnedAway++;
      reject(new Error('no connection to the database was free in time'));
    }, this.#options.waitMs);
    this.#waiting.add(waiting);
    this.#grow();
    return promise;
  }

  async query<Row extends QueryResultRow = Record<string, unknown>>(
    query: string | QueryConfig,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    const client = await this.connect();
    try {
      // Without values it may be several statements.
      const result = await (values.length === 0
        ? client.query<Row>(query)
        : client.query<Row>(query, [...values]));
      client.release();
      return result;
    } catch (error) {
      client.release(!(error instanceof DatabaseError && error.severity === 'ERROR'));
      throw error;
    }
  }

  /** Resolves when all that are in use were released. */
  async end(): Promise<void> {
    this.#isClosing = true;
    this.#failWaiting(new Error('the connections were closed'));
    for (const idle of this.#idle.splice(0)) this.#drop(idle);
    if (this.#open.size === 0) this.#closed.resolve();
    await this.#closed.promise;
  }

  #grow(): void {
    while (
      this.#opening < this.#waiting.size &&
      this.#open.size + this.#opening < this.#options.most &&
      !this.#isResting()
    )
      void this.#openOne();
  }

  /** An outage must not become a storm of attempts, and a database that grants no more is not asked all the time. */
  #isResting(): boolean {
    const restMs = this.#open.size > 0 ? GROW_AGAIN_MS : REST_MS;
    return performance.now() - this.#failedAt < restMs;
  }

  async #openOne(): Promise<void> {
    this.#opening++;
    const connection = new PooledConnection(
      { ...this.#options.client, connectionTimeoutMillis: OPEN_TIMEOUT_MS },
      { released: (one, isBroken) => this.#released(one, isBroken), lost: (one) => this.#lost(one) },
    );
    try {
      await connection.connect();
      await this.#options.prepare?.(connection);
    } catch (error) {
      this.#opening--;
      connection.leave();
      this.#refused(error);
      return;
    }
    this.#opening--;
    this.#isRefused = false;
    this.#open.add(connection);
    this.#released(connection, connection.isLost);
  }

  #refused(error: unknown): void {
    if (this.#isClosing) return;
    this.#failedAt = performance.now();
    const { size: open } = this.#open;
    if (open === 0 && this.#opening === 0) this.#failWaiting(error);
    if (open > 0 && !this.#isRefused)
      this.#options.log.warn('database_refuses_more_connections', {
        application: this.#options.client.application_name,
        open,
        most: this.#options.most,
        error,
      });
    this.#isRefused = true;
  }

  #released(connection: PooledConnection, isBroken: boolean): void {
    if (isBroken || this.#isClosing) {
      this.#drop(connection);
      this.#grow();
      return;
    }
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      clearTimeout(next.timer);
      next.resolve(connection.taken());
      return;
    }
    this.#idle.push(connection);
    connection.closeAfter(IDLE_MS, () => {
      if (this.#open.size > this.#options.least) this.#lost(connection);
    });
  }

  /** One that nobody uses; in use, whoever uses it hears of it by a failed statement. */
  #lost(connection: PooledConnection): void {
    const index = this.#idle.indexOf(connection);
    if (index === -1) return;
    this.#idle.splice(index, 1);
    this.#drop(connection);
  }

  #drop(connection: PooledConnection): void {
    connection.leave();
    this.#open.delete(connection);
    if (this.#isClosing && this.#open.size === 0) this.#closed.resolve();
  }

  #failWaiting(error: unknown): void {
    this.#turnedAway += this.#waiting.size;
    for (const { reject, timer } of this.#waiting) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiting.clear();
  }
}

/** How busy a pool is. */
export interface PoolLoad {
  readonly total: number;
  readonly idle: number;
  /** Callers who wait for a connection. */
  readonly waiting: number;
  /** Callers who got none, since the start. */
  readonly turnedAway: number;
}

interface Waiting {
  readonly resolve: (client: PoolClient) => void;
  readonly reject: (error: unknown) => void;
  timer: ReturnType<typeof setTimeout> | undefined;
}

interface PoolOfOne {
  released(connection: PooledConnection, isBroken: boolean): void;
  lost(connection: PooledConnection): void;
}

class PooledConnection extends Client {
  readonly #pool: PoolOfOne;
  #isTaken = false;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  isLost = false;

  constructor(config: ClientConfig, pool: PoolOfOne) {
    super(config);
    this.#pool = pool;
    // Without a listener an error of an unused connection would end the process.
    for (const event of ['error', 'end'] as const)
      this.on(event, () => {
        this.isLost = true;
        pool.lost(this);
      });
  }

  taken(): this {
    clearTimeout(this.#idleTimer);
    this.#isTaken = true;
    return this;
  }

  release(isBroken: Error | boolean = false): void {
    if (!this.#isTaken) throw new Error('a connection was released that nobody had');
    this.#isTaken = false;
    this.#pool.released(this, isBroken !== false || this.isLost);
  }

  closeAfter(idleMs: number, close: () => void): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(close, idleMs);
    this.#idleTimer.unref();
  }

  /** A server that does not answer any more is not waited for. */
  leave(): void {
    clearTimeout(this.#idleTimer);
    this.end().catch(() => undefined);
  }
}

/** A new connection takes up to seven round trips, and nobody waits for it in particular. */
const OPEN_TIMEOUT_MS = 5_000;
const IDLE_MS = 30_000;
const REST_MS = 100;
const GROW_AGAIN_MS = 1_000;
