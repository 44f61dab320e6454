import { sql } from 'kysely';
import { Fault } from '../std/fault.ts';
import type { Store } from './store.ts';
import { Client } from 'pg';

/** How connections of a node that knows wallets call themselves; those of earlier versions say `tollgate ledger`. */
export const WALLET_NODE = 'tollgate ledger with wallets';
const EARLIER_NODE = 'tollgate ledger';

const WALLET_STEP = 20;
const SERVED_BY = 'server.schema_step';

/**
 * Before the first team, budget, limit of a token, price group or catalog with a date: an earlier version would take the money of the wrong account,
 * ignore the limit, and sell at the list price. So none may be running, and none starts from then on.
 */
export async function requireWallets(store: Store): Promise<void> {
  const earlier = await earlierNodes(store);
  if (earlier.length > 0)
    throw new Fault(
      'conflict',
      `Teams, budgets, price groups and catalogs with a date need every server to know them. Upgrade and restart first: ${earlier.join(', ')}.`,
    );
  await sql`UPDATE schema_step SET compatible_from = ${WALLET_STEP}
    WHERE number = ${WALLET_STEP} AND compatible_from < ${WALLET_STEP}`.execute(store.db);
}

async function earlierNodes({ db, backend }: Store): Promise<readonly string[]> {
  if (backend.kind === 'postgres') {
    const { rows } = await sql<{ address: string | null }>`
      SELECT DISTINCT host(client_addr) AS address FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = ${EARLIER_NODE} ORDER BY 1`.execute(db);
    return rows.map(({ address }) => `the server at ${address ?? 'this machine'}`);
  }
  const row = await db.selectFrom('setting').select('value').where('key', '=', SERVED_BY).executeTakeFirst();
  const isKnown = Number(row?.value ?? 0) >= WALLET_STEP;
  return isKnown || backend.claim() ? [] : ['the server on this data folder'];
}

/** A server that starts on a data folder says what it knows. */
export async function announceWallets({ db, backend }: Store, now: number): Promise<void> {
  if (backend.kind !== 'sqlite') return;
  const value = { value: String(WALLET_STEP), updated_at: now };
  await db
    .insertInto('setting')
    .values({ key: SERVED_BY, ...value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(value))
    .execute();
}

/**
 * Where processes of Tollgate are connected to this Postgres from, each address once with how many connections it has. To
 * be asked before this process opens a pool, whose connections look the same.
 */
export async function connectedNodes(databaseUrl: string): Promise<readonly string[]> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'tollgate nodes' });
  await client.connect();
  try {
    const { rows } = await client.query<{ address: string | null; connections: number }>(
      `SELECT host(client_addr) AS address, count(*)::int AS connections FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'tollgate' AND backend_type = 'client backend'
        GROUP BY client_addr ORDER BY client_addr`,
    );
    return rows.map(
      ({ address, connections }) => `${address ?? 'this machine'} (${connections} connections)`,
    );
  } finally {
    await client.end();
  }
}
