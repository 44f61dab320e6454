import { existsSync } from 'node:fs';
import { StartupError } from '../std/startup-error.ts';
import { WORKER_VARIABLE } from './workers.ts';

/** What the environment says, read once. Everything else about a Tollgate is in its catalog file or its store. */
export interface Config {
  /** The operator's catalog file; absent, the catalog lives in the store. */
  readonly catalogPath: string | undefined;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly databaseUrl: string | undefined;
  readonly secret: string | undefined;
  /** How long streams may go on after SIGTERM. */
  readonly graceMs: number;
  /** How long a hold outlives the node that made it; renewed several times within. */
  readonly leaseMs: number;
  /** Processes on this machine that share the port: one for each core, where the store allows it. */
  readonly workers: number;
  /** Which of them this one is; `undefined` when it is alone. */
  readonly worker: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const DEFAULT_FILE = 'tollgate.yaml';
const DEFAULT_PORT = 8700;

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = present(env['TOLLGATE_CONFIG']);
  return {
    catalogPath: given ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined),
    dataDir: present(env['TOLLGATE_DATA']) ?? './data',
    host: present(env['TOLLGATE_HOST']) ?? '127.0.0.1',
    port: integer(env, 'TOLLGATE_PORT', DEFAULT_PORT, [0, 65_535]),
    databaseUrl: present(env['DATABASE_URL']),
    secret: present(env['TOLLGATE_SECRET']),
    graceMs: integer(env, 'TOLLGATE_GRACE_SECONDS', 60, [0, 86_400]) * 1000,
    leaseMs: integer(env, 'TOLLGATE_LEASE_SECONDS', 120, [2, 3_600]) * 1000,
    workers: workers(env),
    worker:
      present(env[WORKER_VARIABLE]) === undefined
        ? undefined
        : integer(env, WORKER_VARIABLE, 0, [0, MOST_WORKERS]),
    env,
  };
}

const MOST_WORKERS = 256;

function workers(env: Config['env']): number {
  const count = integer(env, 'TOLLGATE_WORKERS', 1, [1, MOST_WORKERS]);
  if (count === 1) return count;
  if (present(env['DATABASE_URL']) === undefined)
    throw new StartupError('TOLLGATE_WORKERS needs DATABASE_URL: a SQLite file is written by one process.');
  if (integer(env, 'TOLLGATE_PORT', DEFAULT_PORT, [0, 65_535]) === 0)
    throw new StartupError('TOLLGATE_WORKERS needs a TOLLGATE_PORT: the workers listen on the same one.');
  return count;
}

function present(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value;
}

function integer(
  env: Config['env'],
  name: string,
  otherwise: number,
  [least, most]: readonly [number, number],
): number {
  const text = present(env[name]);
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new StartupError(`${name} must be a whole number from ${least} to ${most}, not '${text}'.`);
}
