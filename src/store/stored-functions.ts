import { createHash } from 'node:crypto';
import type { ClientBase, PoolClient } from 'pg';
import type { Log } from '../std/log.ts';
import { SchemaWaits, underSchemaLock } from './schema-lock.ts';

/**
 * A function of the database whose name ends in the hash of its text. A version of Tollgate that changes a function
 * makes another one, so that nodes of two versions run side by side on one database and each calls what it was tested
 * with.
 */
export interface StoredFunction {
  readonly name: string;
  readonly text: string;
}

/**
 * The functions that the ledger's code calls. They are kept beside that code, and the store does not know the ledger; a
 * database without stored functions ignores them.
 */
export type LedgerSql = readonly StoredFunction[];

/** `text` creates the function under its plain name; a function that it calls is named with that one's hash. */
export function storedFunction(text: string): StoredFunction {
  const [head, create, plainName] = /^\s*(CREATE (?:FUNCTION|PROCEDURE)) (\w+)/.exec(text) ?? [];
  if (head === undefined)
    throw new Error('a stored function begins with CREATE FUNCTION or CREATE PROCEDURE');
  const name = `${plainName}_${createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)}`;
  return { name, text: `${create} ${name}${text.slice(head.length)}` };
}

/**
 * Makes the functions that are not there yet, notes that they are in use, and drops those that no node has announced for
 * {@link UNUSED_DAYS} days. Every node announces its functions when it starts and daily while it runs, by the database's
 * clock, so only a node that was away all that time can miss one, and it makes it again. Runs under the schema's lock.
 */
export async function announceFunctions(client: ClientBase, functions: LedgerSql): Promise<void> {
  const names = functions.map(({ name }) => name);
  const { rows } = await client.query<{ name: string }>(PRESENT, [names]);
  const present = new Set(rows.map(({ name }) => name));
  for (const { name, text } of functions) if (!present.has(name)) await client.query(text);
  await client.query(ANNOUNCE, [names]);
  const { rows: unused } = await client.query<{ drop: string }>(FORGET_UNUSED, [UNUSED_DAYS * DAY_MS]);
  for (const { drop } of unused) await client.query(drop);
}

interface Connections {
  connect(): Promise<PoolClient>;
}

/** Announces the functions again and again until the returned function is called. */
export function keepAnnouncing(
  pool: Connections,
  functions: LedgerSql,
  log: Log,
  everyMs = ANNOUNCE_EVERY_MS,
): () => void {
  const timer = setInterval(() => {
    announceAgain(pool, functions, log).catch((error: unknown) =>
      // Tomorrow is early enough: see UNUSED_DAYS.
      log.warn('functions_not_announced', { error }),
    );
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function announceAgain(pool: Connections, functions: LedgerSql, log: Log): Promise<void> {
  const client = await pool.connect();
  try {
    await underSchemaLock(client, new SchemaWaits(log), () => announceFunctions(client, functions));
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

const HASH_LENGTH = 8;
const DAY_MS = 86_400_000;
const ANNOUNCE_EVERY_MS = DAY_MS;
const UNUSED_DAYS = 30;

const NOW_MS = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`;
const PRESENT = `SELECT p.proname AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
  WHERE n.nspname = current_schema() AND p.proname = ANY ($1::text[])`;
const ANNOUNCE = `INSERT INTO stored_function (name, announced_at) SELECT name, ${NOW_MS} FROM unnest($1::text[]) AS name
  ON CONFLICT (name) DO UPDATE SET announced_at = excluded.announced_at`;
const FORGET_UNUSED = `DELETE FROM stored_function WHERE announced_at < ${NOW_MS} - $1::bigint
  RETURNING format('DROP ROUTINE IF EXISTS %I', name) AS drop`;
