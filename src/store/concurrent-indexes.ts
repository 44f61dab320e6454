import type { Client } from 'pg';
import type { Log } from '../std/log.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { connectForSchema, holders, isInTheWay, underSchemaLock, type SchemaWaits } from './schema-lock.ts';

/** An index of a table that has rows: it is built while they are read and written, outside of any transaction. */
export interface ConcurrentIndex {
  readonly name: string;
  /** CREATE INDEX without its CONCURRENTLY. */
  readonly statement: string;
}

/** What one change of the schema works with. */
export interface SchemaChange {
  readonly address: PostgresAddress;
  readonly client: Client;
  readonly waits: SchemaWaits;
  readonly log: Log;
}

/**
 * Builds the indexes that are not there or that a killed build left unfinished. That an index is there and valid is the only
 * note of it, so a build may be killed at any point.
 */
export async function completeIndexes(
  change: SchemaChange,
  wanted: readonly ConcurrentIndex[],
): Promise<void> {
  const { client, waits, address } = change;
  if (wanted.length === 0 || (await unfinished(client, wanted)).length === 0) return;
  // The lock's transaction has no snapshot and no table's lock, so the builds beside it do not wait for it.
  await underSchemaLock(client, waits, async () => {
    const builder = await connectForSchema(address);
    try {
      for (const index of wanted) await complete({ ...change, client: builder }, index);
    } finally {
      await builder.end();
    }
  });
}

async function complete(change: SchemaChange, index: ConcurrentIndex): Promise<void> {
  const { client, waits, log } = change;
  const startedAt = performance.now();
  for (;;) {
    const [left] = await unfinished(client, [index]);
    if (left === undefined) return;
    const building = `index ${index.name} is being built`;
    // The server goes on with the build of a node that was killed, and it may well succeed.
    if (left.state === 'building') {
      await waits.pause(building, () => holders(client, BUILDERS, [index.name]));
      continue;
    }
    try {
      if (left.state === 'invalid') await watched(change, `DROP INDEX CONCURRENTLY IF EXISTS ${index.name}`);
      await watched(change, concurrently(index));
      log.info('index_built', { index: index.name, ms: Math.round(performance.now() - startedAt) });
    } catch (error) {
      if (!isInTheWay(error)) throw error;
      await waits.pause(building, () => Promise.resolve([]));
    }
  }
}

/** Runs a statement that waits for other transactions and holds up none, and says for which while it does. */
async function watched({ client, address, waits }: SchemaChange, statement: string): Promise<void> {
  const end = Promise.withResolvers<'over'>();
  const done = client.query(statement).finally(() => end.resolve('over'));
  const watch = async (): Promise<void> => {
    if ((await Promise.race([end.promise, Bun.sleep(WATCH_AFTER_MS)])) === 'over') return;
    // A connection of its own: the lock's transaction must not get a snapshot now.
    const observer = await connectForSchema(address);
    try {
      do await waits.say(statement, () => holders(observer, BLOCKERS, [statement]));
      while ((await Promise.race([end.promise, Bun.sleep(WATCH_AFTER_MS)])) !== 'over');
    } finally {
      await observer.end();
    }
  };
  // What it waits for is only for the operator to know: a failure to find out changes nothing.
  await Promise.all([done, watch().catch(() => undefined)]);
}

interface Unfinished {
  readonly name: string;
  readonly state: 'missing' | 'invalid' | 'building';
}

async function unfinished(client: Client, wanted: readonly ConcurrentIndex[]): Promise<Unfinished[]> {
  const { rows } = await client.query<Unfinished>(UNFINISHED, [wanted.map(({ name }) => name)]);
  return rows;
}

function concurrently({ statement }: ConcurrentIndex): string {
  return statement.replace(/\bINDEX\b/i, 'INDEX CONCURRENTLY');
}

const WATCH_AFTER_MS = 1_000;

const UNFINISHED = `SELECT w.name,
    CASE WHEN i.indexrelid IS NULL THEN 'missing'
      WHEN EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid) THEN 'building'
      ELSE 'invalid' END AS state
  FROM unnest($1::text[]) AS w (name)
  LEFT JOIN (pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()) ON c.relname = w.name
  WHERE i.indexrelid IS NULL OR NOT (i.indisvalid AND i.indisready)`;
const BUILDERS = `SELECT p.pid FROM pg_stat_progress_create_index p JOIN pg_class c ON c.oid = p.index_relid
  WHERE c.relname = $1`;
const BLOCKERS = `SELECT unnest(pg_blocking_pids(b.pid)) FROM pg_stat_activity b
  WHERE b.datname = current_database() AND b.state = 'active' AND b.query = $1`;
