import { appendFileSync, chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../../test/support/postgres.ts';

/** The programs of the server, of pg_dump and of pg_ctl are of one package, as on the machine of the page. */
const PROGRAMS = '/usr/lib/postgresql/15/bin';
export const PASSWORD = 'seven-tolls';

export interface Database {
  readonly port: number;
  /** For a shell of the database's user. */
  readonly profile: string;
  stop(): Promise<void>;
}

/** As after the installation of Debian's package: its user may do everything, nobody else is there, TLS is on. */
export async function installDatabase(certificate: { cert: string; key: string }): Promise<Database> {
  const server = await startPostgres({ fsync: false, programs: PROGRAMS });
  const data = join(server.folder, 'data');
  await administer(server.port, 'tollgate', [`CREATE ROLE postgres SUPERUSER LOGIN PASSWORD '${PASSWORD}'`]);
  writeFileSync(join(data, 'server.key'), readFileSync(certificate.key), { mode: 0o600 });
  writeFileSync(join(data, 'server.crt'), readFileSync(certificate.cert));
  const { uid, gid } = await Bun.file(join(data, 'PG_VERSION')).stat();
  for (const name of ['server.key', 'server.crt']) chownSync(join(data, name), uid, gid);
  await administer(server.port, 'postgres', [
    'ALTER ROLE tollgate RENAME TO installer',
    'ALTER SYSTEM SET ssl = on',
    'SELECT pg_reload_conf()',
  ]);
  // For a copy that is started by hand, where these are no words of the command that starts it.
  appendFileSync(join(data, 'postgresql.conf'), "\nunix_socket_directories = ''\nmax_connections = 200\n");
  return {
    port: server.port,
    profile: `export PATH=${PROGRAMS}:$PATH PGDATA=${data} PGHOST=127.0.0.1 PGPORT=${server.port} PGUSER=postgres PGPASSWORD=${PASSWORD} PGDATABASE=postgres\n`,
    stop: () => server.stop(),
  };
}

async function administer(port: number, user: string, statements: readonly string[]): Promise<void> {
  const password = user === 'postgres' ? PASSWORD : 'tollgate';
  const client = new Client(`postgres://${user}:${password}@127.0.0.1:${port}/postgres`);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}
