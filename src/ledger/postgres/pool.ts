import { DatabaseError, type PoolClient } from 'pg';
import { Fault } from '../../std/fault.ts';
import type { Log } from '../../std/log.ts';
import { ConnectionPool } from '../../store/connection-pool.ts';
import type { PostgresAddress } from '../../store/postgres-address.ts';
import { WALLET_NODE } from '../../store/other-nodes.ts';
import { INTEGERS_AS_NUMBERS } from '../../store/postgres-pool.ts';
import type { ConnectionLoad } from '../port.ts';

/** One statement in one round trip, prepared under its name on each connection, unless a pooler shares connections. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement with its arguments. */
export interface BoundStatement {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/**
 * The ledger's own connections: few, with short timeouts, so that a slow or missing database is noticed within a
 * second; only a new connection may take longer, because no call waits for it while others are free. Every call is one statement and therefore one transaction, but for {@link transaction}. It either returns its rows or throws {@link
 * CallFailed}, which says whether the statement can have taken effect.
 */
export class LedgerPool {
  readonly #pool: ConnectionPool;
  readonly #log: Log;
  readonly #callTimeoutMs: number;
  readonly #pooled: boolean;
  #failing = false;

  /** `deadlineFactor` multiplies every timeout: 1 for a service, more where no client waits. */
  constructor(
    { url, pooled = false }: PostgresAddress,
    log: Log,
    maxConnections: number,
    deadlineFactor = 1,
  ) {
    this.#log = log;
    this.#pooled = pooled;
    this.#callTimeoutMs = CALL_TIMEOUT_MS * deadlineFactor;
    const settings = connectionSettings(STATEMENT_TIMEOUT_MS * deadlineFactor);
    this.#pool = new ConnectionPool({
      client: {
        connectionString: url,
        keepAlive: true,
        application_name: WALLET_NODE,
        types: INTEGERS_AS_NUMBERS,
      },
      most: maxConnections,
      least: Math.min(LEAST_OPEN, maxConnections),
      waitMs: WAIT_MS * deadlineFactor,
      // A connection whose settings were refused would decide by other rules, so the pool drops it. A pooler would give
      // the settings to other clients; there the database's own rules were checked at the start.
      prepare: pooled ? undefined : (client) => inTime(client.query(settings), SETTINGS_TIMEOUT_MS),
      log,
    });
  }

  /** A deadlock or a serialisation failure undid everything: the call is made again, a bounded number of times. */
  async call<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const rows = await this.#callOnce<Row>(statement, values);
        this.#succeeded();
        return rows;
      } catch (error) {
        await this.#beforeNext(attempt, error);
      }
    }
  }

  /**
   * Several statements as one transaction, for what is rare and cannot be decided in one of them: its locks are held while
   * answers travel. Whatever `work` throws undoes all of it, and it may be run again like a call.
   */
  async transaction<Result>(work: (session: Pick<LedgerPool, 'call'>) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await this.#transactionOnce(work);
        this.#succeeded();
        return result;
      } catch (error) {
        await this.#beforeNext(attempt, error);
      }
    }
  }

  load(name: string): ConnectionLoad {
    return { name, ...this.#pool.load };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** Returns where it is worth another attempt. */
  async #beforeNext(attempt: number, error: unknown): Promise<void> {
    if (!(error instanceof CallFailed)) throw error;
    if (!error.isCollision || attempt === MOST_ATTEMPTS) throw this.#failed(error);
    await Bun.sleep(attempt * COLLISION_PAUSE_MS * (0.5 + Math.random()));
  }

  async #transactionOnce<Result>(
    work: (session: Pick<LedgerPool, 'call'>) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.#connect();
    let isUsable = false;
    try {
      await this.#query(client, BEGIN, []);
      const result = await work({ call: (statement, values) => this.#query(client, statement, values) });
      await this.#query(client, COMMIT, []);
      isUsable = true;
      return result;
    } catch (error) {
      throw error instanceof Fault ? error : failureOf(error);
    } finally {
      // Without its connection the database undoes what was not committed.
      client.release(!isUsable);
    }
  }

  async #query<Row extends object>(
    client: PoolClient,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const rows = await inTime(
      client.query<Row>(
        this.#pooled ? { text: statement.text, values: [...values] } : { ...statement, values: [...values] },
      ),
      this.#callTimeoutMs,
    );
    return rows.rows;
  }

  async #callOnce<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.#connect();
    try {
      const rows = await this.#query<Row>(client, statement, values);
      client.release();
      return rows;
    } catch (error) {
      const failure = failureOf(error);
      client.release(failure.outcome === 'unknown' || failure.sqlState === READ_ONLY);
      throw failure;
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw new CallFailed('not_sent', messageOf(error), { cause: error });
    }
  }

  #failed(failure: CallFailed): CallFailed {
    if (failure.isMistake) return failure;
    if (!this.#failing) this.#log.error('ledger_unavailable', { error: failure });
    this.#failing = true;
    return failure;
  }

  #succeeded(): void {
    if (this.#failing) this.#log.info('ledger_recovered');
    this.#failing = false;
  }
}

/**
 * `not_sent` and `rolled_back`: nothing happened. `unknown`: the connection broke or fell silent after the statement
 * had left; it may have been committed, or may still be.
 */
export class CallFailed extends Error {
  readonly outcome: 'not_sent' | 'rolled_back' | 'unknown';
  readonly sqlState: string | undefined;

  constructor(
    outcome: CallFailed['outcome'],
    message: string,
    more: { cause?: unknown; sqlState?: string | undefined } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'CallFailed';
    this.outcome = outcome;
    this.sqlState = more.sqlState;
  }

  /** Two transactions blocked each other. */
  get isCollision(): boolean {
    return this.outcome === 'rolled_back' && (this.sqlState === DEADLOCK || this.sqlState === SERIALISATION);
  }

  /** The database refused the statement's own values: this says nothing about its health, and a retry is pointless. */
  get isMistake(): boolean {
    return this.outcome === 'rolled_back' && MISTAKES.has(this.sqlState?.slice(0, 2) ?? '');
  }
}

/** For any connection, while others may be opened. */
const WAIT_MS = 400;
const SETTINGS_TIMEOUT_MS = 5_000;
/** Enough for a first batch of each kind to find one without a wait. */
const LEAST_OPEN = 3;
/**
 * The server gives up first, and says so: nothing happened. The client's own timeout is for a silent server, and
 * leaves time to look up what became of the call.
 */
const STATEMENT_TIMEOUT_MS = 500;
const CALL_TIMEOUT_MS = 600;
const BEGIN: Statement = { name: 'ledger_begin', text: 'BEGIN' };
const COMMIT: Statement = { name: 'ledger_commit', text: 'COMMIT' };
const MOST_ATTEMPTS = 4;
const COLLISION_PAUSE_MS = 10;

/**
 * The functions wait for a lock and then want to see what its last holder did, which is what `read committed` means. It
 * cannot be a setting of a function, whose transaction has begun, and neither can the time limit.
 */
function connectionSettings(timeoutMs: number): string {
  return `SET statement_timeout = ${timeoutMs}; SET default_transaction_isolation = 'read committed'`;
}

const DEADLOCK = '40P01';
const SERIALISATION = '40001';
/** A connection to a server that has become a replica is of no use any more. */
const READ_ONLY = '25006';
/** Data exceptions and integrity violations. */
const MISTAKES: ReadonlySet<string> = new Set(['22', '23']);

async function inTime<T>(call: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new CallFailed('unknown', 'the database did not answer in time')),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
    // If the timeout came first, nobody waits for the call any more.
    call.catch(ignore);
  }
}

/**
 * A server that reports ERROR has undone the statement; FATAL, or no answer at all, ends the connection and leaves the
 * outcome open.
 */
function failureOf(error: unknown): CallFailed {
  if (error instanceof CallFailed) return error;
  const undone = error instanceof DatabaseError && error.severity === 'ERROR';
  const sqlState = error instanceof DatabaseError ? error.code : undefined;
  return new CallFailed(undone ? 'rolled_back' : 'unknown', messageOf(error), { cause: error, sqlState });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function ignore(): void {
  // The caller gets this error from the call itself; see above.
}
