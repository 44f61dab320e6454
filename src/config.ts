import { existsSync } from 'node:fs';
import { StartRefused } from './std/start-refused.ts';

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
  readonly env: Readonly<Record<string, string | undefined>>;
}

const DEFAULT_FILE = 'tollgate.yaml';

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = present(env['TOLLGATE_CONFIG']);
  return {
    catalogPath: given ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined),
    dataDir: present(env['TOLLGATE_DATA']) ?? './data',
    host: present(env['TOLLGATE_HOST']) ?? '127.0.0.1',
    port: integer(env, 'TOLLGATE_PORT', 8700, [0, 65_535]),
    databaseUrl: present(env['DATABASE_URL']),
    secret: present(env['TOLLGATE_SECRET']),
    graceMs: integer(env, 'TOLLGATE_GRACE_SECONDS', 60, [0, 86_400]) * 1000,
    leaseMs: integer(env, 'TOLLGATE_LEASE_SECONDS', 120, [2, 3_600]) * 1000,
    env,
  };
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
  throw new StartRefused(`${name} must be a whole number from ${least} to ${most}, not '${text}'.`);
}
