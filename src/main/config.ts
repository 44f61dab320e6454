import { existsSync } from 'node:fs';
import { IMAGE_QUOTA_BYTES } from '../activity/image-store.ts';
import { LEDGER_DEADLINE_MS } from '../ledger/postgres/batch-queue.ts';
import { LOG_LEVELS, type LogLevel } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import { DEFAULT_CONNECTIONS, LEAST_CONNECTIONS } from '../store/postgres-address.ts';
import { WORKER_VARIABLE } from './workers.ts';

/** The settings in the environment, read once. Everything else is configured in the catalog file or the store. */
export interface Config {
  /** The operator's catalog file; without one, the catalog is in the store. */
  readonly catalogPath: string | undefined;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly databaseUrl: string | undefined;
  readonly secret: string | undefined;
  /** How long requests are still served after SIGTERM, while `/readyz` already says no. */
  readonly drainMs: number;
  /** How long streams may continue after that. */
  readonly graceMs: number;
  /** How long a hold outlives the node that made it; a running node renews it several times in that time. */
  readonly leaseMs: number;
  /** How long a request waits for Postgres before it is refused. */
  readonly databaseDeadlineMs: number;
  /** How long a Postgres that does not answer yet is waited for at the start. */
  readonly databaseWaitMs: number;
  /** How many connections to Postgres one process may open. */
  readonly databaseConnections: number;
  /** What the generated images of one account may occupy. */
  readonly imageQuotaBytes: number;
  /** How long a request waits for the count of a short input; longer ones wait 150 ms more for each megabyte. */
  readonly countWaitMs: number;
  /** Requests that may be under way in this process; fewer where it may not open enough files for them. */
  readonly maxInFlight: number;
  /** New requests are refused while the event loop is later than this, several times in a row. */
  readonly maxDelayMs: number;
  /** The least important lines that are logged, unless the catalog file says so. */
  readonly logLevel: LogLevel;
  /** The share of requests that leave a line in the access log, unless the catalog file says so. */
  readonly accessShare: number;
  /** Lets others than this machine read `/metrics`. */
  readonly metricsToken: string | undefined;
  /** Where the metrics are served to everybody who can reach it. */
  readonly metricsAddress: ListenAddress | undefined;
  /** The number of processes on this machine that share the port; more than one needs Postgres. */
  readonly workers: number;
  /** The index of this process among the workers; `undefined` when it is the only process. */
  readonly worker: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const DEFAULT_FILE = 'tollgate.yaml';
const DEFAULT_PORT = 8700;
const MEGABYTE = 1_048_576;
const DEFAULT_QUOTA_MB = IMAGE_QUOTA_BYTES / MEGABYTE;

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const configuredPath = nonEmpty(env['TOLLGATE_CONFIG']);
  return {
    catalogPath: configuredPath ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined),
    dataDir: nonEmpty(env['TOLLGATE_DATA']) ?? './data',
    host: nonEmpty(env['TOLLGATE_HOST']) ?? '127.0.0.1',
    port: readInteger(env, 'TOLLGATE_PORT', DEFAULT_PORT, [0, 65_535]),
    databaseUrl: nonEmpty(env['DATABASE_URL']),
    secret: nonEmpty(env['TOLLGATE_SECRET']),
    drainMs: readInteger(env, 'TOLLGATE_DRAIN_SECONDS', 5, [0, 3_600]) * 1000,
    graceMs: readInteger(env, 'TOLLGATE_GRACE_SECONDS', 60, [0, 86_400]) * 1000,
    leaseMs: readInteger(env, 'TOLLGATE_LEASE_SECONDS', 120, [2, 3_600]) * 1000,
    databaseDeadlineMs: readInteger(env, 'TOLLGATE_DATABASE_DEADLINE_MS', LEDGER_DEADLINE_MS, [100, 60_000]),
    databaseWaitMs: readInteger(env, 'TOLLGATE_DATABASE_WAIT_SECONDS', 60, [0, 3_600]) * 1000,
    databaseConnections: readInteger(env, 'TOLLGATE_DATABASE_CONNECTIONS', DEFAULT_CONNECTIONS, [
      LEAST_CONNECTIONS,
      200,
    ]),
    imageQuotaBytes:
      readInteger(env, 'TOLLGATE_IMAGE_QUOTA_MB', DEFAULT_QUOTA_MB, [64, 1_000_000]) * MEGABYTE,
    countWaitMs: readInteger(env, 'TOLLGATE_COUNT_WAIT_MS', 50, [1, 60_000]),
    maxInFlight: readInteger(env, 'TOLLGATE_MAX_IN_FLIGHT', 20_000, [1, 1_000_000]),
    maxDelayMs: readInteger(env, 'TOLLGATE_MAX_DELAY_MS', 1_000, [10, 60_000]),
    logLevel: readLogLevel(env),
    accessShare: readAccessShare(env),
    metricsToken: readMetricsToken(env),
    metricsAddress: readMetricsAddress(env),
    workers: readWorkers(env),
    worker:
      nonEmpty(env[WORKER_VARIABLE]) === undefined
        ? undefined
        : readInteger(env, WORKER_VARIABLE, 0, [0, MAX_WORKERS]),
    env,
  };
}

function readLogLevel(env: Config['env']): LogLevel {
  const text = nonEmpty(env['TOLLGATE_LOG_LEVEL']) ?? 'info';
  const level = LOG_LEVELS.find((one) => one === text);
  if (level !== undefined) return level;
  throw new StartupError(`TOLLGATE_LOG_LEVEL must be ${LOG_LEVELS.join(', ')}, not '${text}'.`);
}

function readAccessShare(env: Config['env']): number {
  const text = nonEmpty(env['TOLLGATE_ACCESS_LOG']) ?? 'off';
  if (text === 'off') return 0;
  if (text === 'json') return 1;
  const share = Number(text);
  if (share >= 0 && share <= 1) return share;
  throw new StartupError(`TOLLGATE_ACCESS_LOG must be off, json, or a share from 0 to 1, not '${text}'.`);
}

const LEAST_TOKEN = 16;

function readMetricsToken(env: Config['env']): string | undefined {
  const token = nonEmpty(env['TOLLGATE_METRICS_TOKEN']);
  if (token === undefined || (token.length >= LEAST_TOKEN && /^[!-~]+$/.test(token))) return token;
  throw new StartupError(
    `TOLLGATE_METRICS_TOKEN must have at least ${LEAST_TOKEN} characters and no white space.`,
  );
}

function readMetricsAddress(env: Config['env']): ListenAddress | undefined {
  const text = nonEmpty(env['TOLLGATE_METRICS_ADDRESS']);
  if (text === undefined) return undefined;
  const [, host = '', digits] =
    /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)?.filter((part) => part !== undefined) ?? [];
  const port = Number(digits);
  if (host !== '' && port <= 65_535) return { host, port };
  throw new StartupError(
    `TOLLGATE_METRICS_ADDRESS must be an address and a port, such as 10.0.0.11:9700, not '${text}'.`,
  );
}

const MAX_WORKERS = 256;

function readWorkers(env: Config['env']): number {
  const count = readInteger(env, 'TOLLGATE_WORKERS', 1, [1, MAX_WORKERS]);
  if (count === 1) return count;
  if (nonEmpty(env['DATABASE_URL']) === undefined)
    throw new StartupError('TOLLGATE_WORKERS needs DATABASE_URL: a SQLite file is written by one process.');
  if (readInteger(env, 'TOLLGATE_PORT', DEFAULT_PORT, [0, 65_535]) === 0)
    throw new StartupError('TOLLGATE_WORKERS needs a TOLLGATE_PORT: the workers listen on the same one.');
  return count;
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value;
}

function readInteger(
  env: Config['env'],
  name: string,
  fallback: number,
  [min, max]: readonly [number, number],
): number {
  const text = nonEmpty(env[name]);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new StartupError(`${name} must be a whole number from ${min} to ${max}, not '${text}'.`);
}
