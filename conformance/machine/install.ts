import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface PeerPackage {
  readonly name: string;
  /** Exact: another version is another peer. */
  readonly version: string;
  /** The program or script to start, inside the folder. */
  readonly program: string;
  /** Written into the folder first. */
  readonly files?: Readonly<Record<string, string>>;
  /** Commands that fill the folder, run in it one after the other. */
  readonly commands: (folder: string) => readonly (readonly [string, ...string[]])[];
  readonly env?: (folder: string) => Readonly<Record<string, string>>;
}

const INSTALL_MS = 900_000;
/** Once for all runs, and outside of any checkout. */
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tollgate-conformance');
const MOST_REASON = 300;
/** How long this process has installed programs: no part of what a start takes. */
export const installing = { ms: 0 };

/**
 * Installs a program into a folder of its own in the cache, once per version, and returns the path of
 * its program. Throws one sentence where that cannot be done.
 */
export function installPeer({ name, version, program, files = {}, commands, env }: PeerPackage): string {
  const folder = join(CACHE, `${name}-${version}`);
  const complete = join(folder, '.installed');
  const path = join(folder, program);
  if (existsSync(complete)) return path;
  const startedAt = Date.now();
  // What an interrupted installation left is no base for another one.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  for (const [command, ...parameters] of commands(folder)) {
    const reason = failureOf(command, parameters, folder, env?.(folder) ?? {});
    if (reason !== undefined) throw new Error(`${name} ${version} could not be installed: ${reason}`);
  }
  if (!existsSync(path)) throw new Error(`${name} ${version} was installed without ${program}`);
  writeFileSync(complete, '');
  installing.ms += Date.now() - startedAt;
  return path;
}

function failureOf(
  command: string,
  parameters: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): string | undefined {
  if (!command.startsWith('/') && Bun.which(command) === null) return `there is no ${command} here`;
  const { status, stdout, stderr } = spawnSync(command, [...parameters], {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: INSTALL_MS,
  });
  if (status === 0) return undefined;
  if (status === null) return `${command} took more than ${INSTALL_MS / 60_000} minutes`;
  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.findLast((line) => /error|forbidden|no match|not found|cannot/i.test(line));
  return (telling ?? lines.at(-1) ?? `${command} ended with ${status}`).trim().slice(0, MOST_REASON);
}
