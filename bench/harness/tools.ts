import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Programs the bench compares with or loads with. What the machine has is used; what it lacks is fetched into a cache
 * folder under the temporary folder, so that nothing is installed and no service is started.
 */
export interface Tools {
  readonly nginx: string | undefined;
  readonly wrk: string | undefined;
  /** A Node that runs the installed undici, and TypeScript as it is. */
  readonly node: string | undefined;
  /** What could not be had, and what that means. */
  readonly notes: readonly string[];
}

export const NODE_VERSION = '24';
const FETCH_MS = 180_000;
const cache = join(tmpdir(), 'tollgate-bench');

export function findTools(): Tools {
  const notes: string[] = [];
  const noted = (path: string | undefined, note: string): string | undefined => {
    if (path === undefined) notes.push(note);
    return path;
  };
  return {
    nginx: noted(debianProgram('nginx', ['nginx']), 'nginx is not here and could not be fetched: left out.'),
    wrk: noted(
      debianProgram('wrk', ['wrk', 'libluajit-5.1-2']),
      'wrk is not here and could not be fetched: the load came from our own generator, which takes more of the shared cores.',
    ),
    node: noted(nodeProgram(), `Node ${NODE_VERSION} is not here and could not be fetched: left out.`),
    notes,
  };
}

/** Shared libraries of a fetched program lie beside it. */
export const libraryPath = join(
  cache,
  'debian/usr/lib',
  `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`,
);

function debianProgram(name: string, packages: readonly string[]): string | undefined {
  const installed = Bun.which(name, { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin` });
  if (installed !== null) return installed;
  const folder = join(cache, 'debian');
  const found = (): string | undefined =>
    ['sbin', 'bin'].map((bin) => join(folder, 'usr', bin, name)).find(runs);
  return found() ?? (download(folder, packages) ? found() : undefined);
}

function download(folder: string, packages: readonly string[]): boolean {
  if (Bun.which('apt-get') === null || Bun.which('dpkg-deb') === null) return false;
  mkdirSync(folder, { recursive: true });
  const fetchAll = (): boolean => quiet('apt-get', ['-q', 'download', ...packages], folder);
  // A fresh container has no package lists; only root may fetch them.
  if (!fetchAll() && !(quiet('apt-get', ['-q', 'update'], folder) && fetchAll())) return false;
  const files = readdirSync(folder).filter((file) => file.endsWith('.deb'));
  return files.every((file) => quiet('dpkg-deb', ['-x', file, '.'], folder));
}

function runs(path: string): boolean {
  if (!existsSync(path)) return false;
  const env = { ...process.env, LD_LIBRARY_PATH: libraryPath };
  // wrk answers its version with 1, nginx with 0; a program that lacks a library ends with 127.
  return (spawnSync(path, ['-v'], { env, timeout: 5_000 }).status ?? 127) < 127;
}

function nodeProgram(): string | undefined {
  const installed = Bun.which('node');
  if (installed !== null && runsTypeScript(installed)) return installed;
  const name = `node-${process.platform}-${process.arch}`;
  const path = join(cache, 'node/node_modules', name, 'bin/node');
  if (!existsSync(path)) npmInstall('node', `${name}@${NODE_VERSION}`);
  return existsSync(path) ? path : undefined;
}

export function nodeVersion(node: string): string {
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim().replace(/^v/, '');
}

/** Types are stripped by default from 22.18 on; undici asks for 22.19. */
function runsTypeScript(node: string): boolean {
  const [major = 0, minor = 0] = nodeVersion(node).split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 19);
}

function npmInstall(folder: string, name: string): void {
  const prefix = join(cache, folder);
  mkdirSync(prefix, { recursive: true });
  quiet('npm', ['install', '--no-audit', '--no-fund', '--prefix', prefix, name], prefix);
}

function quiet(command: string, parameters: readonly string[], cwd: string): boolean {
  return spawnSync(command, [...parameters], { cwd, stdio: 'ignore', timeout: FETCH_MS }).status === 0;
}
