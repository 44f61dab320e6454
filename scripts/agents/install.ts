import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Agent } from './cast.ts';
import { runProgram } from './program.ts';

const INSTALL_MS = 300_000;
const LOOK_UP_MS = 60_000;

export interface Installation {
  /** The words that start it. */
  readonly program: readonly string[];
  readonly version: string;
  /** Why it is not the newest version, where it is not. */
  readonly note: string | undefined;
}

/** Installs an agent from npm into a folder of its own. */
export async function install(agent: Agent, folder: string, home: string): Promise<Installation> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  // By name alone npm would pick an older one where this machine's Node is older than what a package asks for.
  const older = await olderVersion(agent, folder, home);
  const wanted = `${agent.npmPackage}@${older?.version ?? 'latest'}`;
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  const node = agent.nodeVersion === undefined ? [] : [`node@${agent.nodeVersion}`];
  const packages = [wanted, ...node, ...(agent.alsoInstalls ?? [])];
  const { exitCode, output } = await npm(['install', ...options, ...packages], {
    folder,
    home,
    timeoutMs: INSTALL_MS,
  });
  if (exitCode !== 0) throw new Error(`npm could not install ${wanted}:\n${output.slice(-2_000)}`);
  const { version } = (await Bun.file(
    join(folder, 'node_modules', agent.npmPackage, 'package.json'),
  ).json()) as { version: string };
  const bin = join(folder, 'node_modules', '.bin');
  const runner = agent.nodeVersion === undefined ? [] : [join(bin, 'node')];
  if (agent.script === undefined)
    return { program: [...runner, join(bin, agent.command)], version, note: older?.note };
  const script = join(folder, 'task.mjs');
  await writeFile(script, agent.script);
  return { program: [agent.command, script], version, note: older?.note };
}

/**
 * Some agents name a program for this machine that the registry does not have (yet); npm takes it for optional and the
 * agent's own installer then fails. The newest version whose program is there will do.
 */
async function olderVersion(
  agent: Agent,
  folder: string,
  home: string,
): Promise<{ version: string; note: string } | undefined> {
  if (agent.programPackage === undefined) return undefined;
  const look = { folder, home, timeoutMs: LOOK_UP_MS };
  const latest = await npm(['view', '--json', '--loglevel=silent', agent.npmPackage, 'version'], look);
  const built = await npm(['view', '--json', '--loglevel=silent', agent.programPackage, 'versions'], look);
  const versions = [JSON.parse(built.output)].flat().map(String);
  const newest = String(JSON.parse(latest.output));
  const version = versions.at(-1);
  if (version === undefined || versions.includes(newest)) return undefined;
  return { version, note: `${newest} is out, but npm had no \`${agent.programPackage}\` of that version` };
}

function npm(command: readonly string[], where: { folder: string; home: string; timeoutMs: number }) {
  const environment = { ...definedVariables(), HOME: where.home, npm_config_cache: join(where.home, '.npm') };
  return runProgram({
    command: ['npm', ...command],
    folder: where.folder,
    environment,
    timeoutMs: where.timeoutMs,
  });
}

function definedVariables(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}
