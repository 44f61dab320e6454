import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isSecretOf, secretAtHand } from '../identity/accounts/secret.ts';
import { plural } from '../std/plural.ts';
import { StartupError } from '../std/startup-error.ts';
import {
  backUpPostgres,
  inspectDump,
  requireRestorable,
  restoreCommand,
  runPostgresCommand,
} from '../store/postgres-backup.ts';
import {
  backUpSqlite,
  BackupRefusal,
  DATABASE_FILE,
  restoreSqlite,
  type BackupFacts,
} from '../store/sqlite-backup.ts';
import { recordPostgresBackup, recordSqliteBackup } from '../store/last-backup.ts';
import { recordCommand } from './audited.ts';
import {
  CommandRefused,
  JSON_FLAG,
  NotFoundError,
  printResult,
  UsageError,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';

export const backupCommands: readonly CliCommand[] = [
  {
    name: 'backup',
    usage: 'FILE [--force] [--json] | --done [--json]',
    about:
      'copy the database to a file while the server runs, with its images; on Postgres with pg_dump. Back up images in a bucket and the secret separately. --force replaces an older file. --done copies nothing and records that another backup succeeded, for the metric of its age',
    flags: { ...JSON_FLAG, force: { type: 'boolean' }, done: { type: 'boolean' } },
    minArguments: 0,
    maxArguments: 1,
    run: backup,
  },
  {
    name: 'restore',
    usage: 'FILE [--force] [--without-secret] [--json]',
    about:
      'restore a backup while no server runs, with the secret it was made with. --force replaces an existing database, which SQLite keeps under another name. --without-secret: run `tollgate secret reset` afterwards',
    flags: { ...JSON_FLAG, force: { type: 'boolean' }, 'without-secret': { type: 'boolean' } },
    minArguments: 1,
    run: restore,
  },
];

async function backup(input: CommandInput, context: CliContext): Promise<number> {
  const [name] = input.arguments;
  const isDone = input.flags['done'] === true;
  if (isDone === (name !== undefined)) throw new UsageError('Name a FILE to copy to, or add --done alone.');
  return name === undefined ? await noteBackup(input, context) : await backUpTo(name, input, context);
}

async function noteBackup(input: CommandInput, context: CliContext): Promise<number> {
  const madeAtMs = context.clock.now();
  await recordBackup(context, madeAtMs);
  const time = new Date(madeAtMs).toISOString();
  printResult(input, context, { made_at: time }, [`Noted a backup at ${time}.`]);
  return 0;
}

async function recordBackup(context: CliContext, madeAtMs: number): Promise<void> {
  const url = databaseUrl(context);
  if (url === undefined) recordSqliteBackup(databaseFile(context), madeAtMs);
  else await recordPostgresBackup(url, madeAtMs);
}

async function backUpTo(name: string, input: CommandInput, context: CliContext): Promise<number> {
  const file = resolve(name);
  if (existsSync(file) && (input.flags['force'] !== true || !statSync(file).isFile()))
    throw new CommandRefused(`${file} is there already. Choose a different name, or add --force.`);
  if (!existsSync(dirname(file))) throw new NotFoundError(`There is no folder ${dirname(file)}.`);
  // On either store by the owner of the data folder, who can then read, copy and restore it.
  context.dataDirAsOwner();
  requireAccess(dirname(file), constants.W_OK, `write to ${dirname(file)}`);
  const url = databaseUrl(context);
  // What is written while the copy is made may not be in it.
  const begunAtMs = context.clock.now();
  const facts = await refusing(async () =>
    url === undefined
      ? backUpSqlite(databaseFile(context), file)
      : await backUpPostgres(url, file, context.env['PATH'] ?? ''),
  );
  await recordBackup(context, begunAtMs).catch((error: unknown) =>
    context.warn(`The copy is whole, but its time could not be noted in the database: ${String(error)}`),
  );
  const { size } = statSync(file);
  printResult(input, context, { file, bytes: size, ...viewOf(facts) }, [
    `${file}: ${describe(facts)}, ${(size / 1_048_576).toFixed(1)} MB.`,
    'The secret is not in it, and without the secret no token works. Keep TOLLGATE_SECRET, or the file `secret` of the data folder, elsewhere.',
  ]);
  return 0;
}

function databaseFile(context: CliContext): string {
  const path = join(context.dataDirAsOwner(), DATABASE_FILE);
  if (!existsSync(path)) throw new NotFoundError(`There is no database at ${path}.`);
  return path;
}

/** A command of root's acts as the owner of the data folder, who may have no right where root has it. */
function requireAccess(path: string, right: number, wanted: string): void {
  try {
    accessSync(path, right);
  } catch {
    throw new CommandRefused(
      `The user with the number ${process.getuid?.()} cannot ${wanted}. Commands on a data folder act as its owner, also for root.`,
    );
  }
}

async function restore(input: CommandInput, context: CliContext): Promise<number> {
  const file = resolve(input.arguments[0] ?? '');
  if (!existsSync(file)) throw new NotFoundError(`There is no file ${file}.`);
  context.dataDirAsOwner();
  requireAccess(file, constants.R_OK, `read ${file}`);
  const replace = input.flags['force'] === true;
  const withoutSecret = input.flags['without-secret'] === true;
  const accept = (facts: BackupFacts): void => {
    if (!withoutSecret) requireSecret(facts, context);
  };
  const url = databaseUrl(context);
  const suffix = `replaced-${new Date(context.clock.now()).toISOString().replaceAll(/[:.]/g, '-')}`;
  const facts = await refusing(async () =>
    url === undefined
      ? restoreFile(file, context, { replace: replace ? { suffix } : undefined, accept })
      : await restoreDump(url, { file, replace, accept, path: context.env['PATH'] ?? '' }),
  );
  // Requests that were running when the copy was made will never end by themselves.
  const closed = withoutSecret
    ? 0
    : await context.withServices(async ({ ledger, store }) => {
        const record = { action: 'store.restore', target: '', detail: { file } };
        await recordCommand(store, record, { input, context });
        return await ledger.expire();
      });
  printResult(input, context, { file, requests_closed: closed, ...viewOf(facts) }, [
    `Restored ${describe(facts)}. Requests that were running at the time of the backup and are closed now: ${closed}.`,
    withoutSecret
      ? 'Now run: tollgate secret reset --yes'
      : 'Check the books with `tollgate verify --full`, then start the server.',
  ]);
  return 0;
}

function restoreFile(
  file: string,
  context: CliContext,
  options: Pick<Parameters<typeof restoreSqlite>[0], 'replace' | 'accept'>,
): BackupFacts {
  const dataDir = context.dataDirAsOwner();
  return restoreSqlite({ file, dataDir, ...options });
}

async function restoreDump(
  url: string,
  {
    file,
    replace,
    accept,
    path,
  }: { file: string; replace: boolean; accept: (facts: BackupFacts) => void; path: string },
): Promise<BackupFacts> {
  const facts = await inspectDump(file, path);
  accept(facts);
  await requireRestorable(url, replace);
  await runPostgresCommand(restoreCommand(url, file, replace), path);
  return facts;
}

function requireSecret({ secretFingerprint }: BackupFacts, context: CliContext): void {
  if (secretFingerprint === undefined) return;
  const secret = secretAtHand(context.env['TOLLGATE_SECRET'], context.dataDirAsOwner());
  if (secret === undefined)
    throw new BackupRefusal(
      'The secret that this backup needs is not here. Set TOLLGATE_SECRET, or put the file `secret` into the data folder. If it is lost, add --without-secret.',
    );
  if (!isSecretOf(secret, secretFingerprint))
    throw new BackupRefusal(
      'The secret here is not the one that this backup was made with: no token would work. Set TOLLGATE_SECRET to that one, or put its file into the data folder.',
    );
}

function databaseUrl({ env }: CliContext): string | undefined {
  const url = env['DATABASE_URL'];
  return url === undefined || url.trim() === '' ? undefined : url;
}

async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // A schema that this version cannot use is reported as at the start of a server.
    const isRefusal = error instanceof BackupRefusal || error instanceof StartupError;
    throw isRefusal ? new CommandRefused(error.message) : error;
  }
}

function viewOf({ accounts, receipts, schemaStep, secretFingerprint }: BackupFacts) {
  return { accounts, receipts, schema_step: schemaStep, secret_fingerprint: secretFingerprint };
}

function describe({ accounts, receipts, schemaStep }: BackupFacts): string {
  return accounts === undefined || receipts === undefined
    ? `a dump of schema step ${schemaStep}`
    : `${plural(accounts, 'account')}, ${plural(receipts, 'receipt')}`;
}
