import { Client } from 'pg';

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
