import { closeSync, openSync, renameSync, rmSync } from 'node:fs';
import { Client } from 'pg';
import { postgresDialect } from './dialect.ts';
import { checkSchemaHistory, type AppliedStep } from './migrate.ts';
import { BackupRefusal, type BackupFacts } from './sqlite-backup.ts';

/** A program of Postgres, ready to run; the password is in its environment, where others cannot see it. */
interface PostgresCommand {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function dumpCommand(databaseUrl: string, file: string): PostgresCommand {
  return command(databaseUrl, [
    'pg_dump',
    '--format=custom',
    '--no-owner',
    '--no-privileges',
    `--file=${file}`,
  ]);
}

export function restoreCommand(databaseUrl: string, file: string, replace: boolean): PostgresCommand {
  const { words, env } = command(databaseUrl, [
    'pg_restore',
    '--no-owner',
    '--no-privileges',
    '--exit-on-error',
    '--single-transaction',
    ...(replace ? ['--clean', '--if-exists'] : []),
  ]);
  return { words: [...words, file], env };
}

/** The command as a person would type it, with the password left to `PGPASSWORD`. */
function commandLine({ words }: PostgresCommand): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

function command(databaseUrl: string, words: readonly string[]): PostgresCommand {
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = '';
  // Of our driver alone: it then reads `sslmode` as these programs do.
  const parameters = url.search.slice(1).split('&');
  url.search = parameters.filter((one) => !one.startsWith('uselibpqcompat=')).join('&');
  return {
    words: [...words, `--dbname=${url.href}`],
    env: password === '' ? {} : { PGPASSWORD: password },
  };
}

/** Runs it to its end; resolves with its standard output. */
export async function runPostgresCommand(wanted: PostgresCommand, path: string): Promise<string> {
  const [program = ''] = wanted.words;
  const found = Bun.which(program, { PATH: path });
  if (found === null)
    throw new BackupRefusal(
      `${program} is not installed here. Where it is, set PGPASSWORD and run: ${commandLine(wanted)}`,
    );
  const child = Bun.spawn([found, ...wanted.words.slice(1)], {
    env: { PATH: path, ...wanted.env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) === 0) return output;
  throw new BackupRefusal(`${program} failed: ${errors.trim().slice(0, MAX_ERROR_CHARACTERS)}`);
}

const MAX_ERROR_CHARACTERS = 2_000;

/** Refuses a database that is in use, and one that has tables, unless they are to be replaced. */
export async function requireRestorable(databaseUrl: string, replace: boolean): Promise<void> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query<{ others: number; tables: number }>(
      `SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND backend_type = 'client backend')::int AS others,
              (SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema())::int AS tables`,
    );
    const { others = 0, tables = 0 } = rows[0] ?? {};
    if (others > 0)
      throw new BackupRefusal(
        `${others} other connections use this database. Stop every node, and whatever else uses it, first.`,
      );
    if (tables > 0 && !replace)
      throw new BackupRefusal(
        'The database has tables already. Restore to an empty one, or add --force: then they are replaced.',
      );
  } finally {
    await client.end();
  }
}

/** A dump that appears under its name only when it is whole, and that nobody else may read. */
export async function backUpPostgres(databaseUrl: string, file: string, path: string): Promise<BackupFacts> {
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  closeSync(openSync(partial, 'wx', 0o600));
  try {
    await runPostgresCommand(dumpCommand(databaseUrl, partial), path);
    const facts = await inspectDump(partial, path);
    renameSync(partial, file);
    return facts;
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Reads a dump without a database. `path`: where to find Postgres' programs. */
export async function inspectDump(file: string, path: string): Promise<BackupFacts> {
  const tables = ['setting', 'schema_step'].map((table) => `--table=${table}`);
  const words = ['pg_restore', '--data-only', ...tables, '--file=-', file];
  const sql = await runPostgresCommand({ words, env: {} }, path);
  const steps = rowsOf(sql, 'schema_step').map(
    ({ number, name = '', checksum = '', compatible_from }): AppliedStep => ({
      number: Number(number),
      name,
      checksum,
      compatible_from: Number(compatible_from),
    }),
  );
  if (steps.length === 0) throw new BackupRefusal('This is not a dump of a database of Tollgate.');
  checkSchemaHistory(
    steps.toSorted((a, b) => a.number - b.number),
    postgresDialect,
  );
  return {
    accounts: undefined,
    receipts: undefined,
    schemaStep: steps.length,
    secretFingerprint: rowsOf(sql, 'setting').find(({ key }) => key === 'secret.fingerprint')?.['value'],
  };
}

/** The rows of one `COPY … FROM stdin` block; none of the values that are read here has escapes in it. */
function rowsOf(sql: string, table: string): Record<string, string>[] {
  const block = new RegExp(
    `^COPY (?:\\w+\\.)?${table} \\(([^)]*)\\) FROM stdin;\\n([^]*?)^\\\\\\.$`,
    'm',
  ).exec(sql);
  const columns = block?.[1]?.split(', ') ?? [];
  const lines = block?.[2]?.split('\n').filter((line) => line !== '') ?? [];
  return lines.map((line) => {
    const values = line.split('\t');
    return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? '']));
  });
}
