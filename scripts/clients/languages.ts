import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../agents/program.ts';
import type { Language, RosterEntry } from './roster.ts';

/** A client that is installed: its version, and how its program is started. */
export interface InstalledClient {
  readonly version: string;
  readonly command: readonly string[];
  readonly environment: Record<string, string>;
  readonly folder: string;
}

const INSTALL_MS = 900_000;
const HERE = import.meta.dir;

/** What installs the packages of a language, makes the program and tells the client's version. `folder` is the client's own. */
type Installer = (entry: RosterEntry, folder: string) => Promise<InstalledClient>;

const INSTALLERS: Readonly<Record<Language, Installer>> = {
  Python: installPython,
  JavaScript: installJavaScript,
  Go: installGo,
  Rust: installRust,
  Java: installJava,
};

/** The program that a machine must have for a language. */
const TOOLS: Readonly<Record<Language, string>> = {
  Python: 'python3',
  JavaScript: 'bun',
  Go: 'go',
  Rust: 'cargo',
  Java: 'mvn',
};

/** Why this language cannot be run here; undefined where it can. */
export function missingTool(language: Language): string | undefined {
  if (language === 'JavaScript' || Bun.which(TOOLS[language]) !== null) return undefined;
  return `no ${TOOLS[language]} on this machine`;
}

export async function installClient(entry: RosterEntry, within: string): Promise<InstalledClient> {
  const folder = join(within, entry.name);
  mkdirSync(folder, { recursive: true });
  return await INSTALLERS[entry.language](entry, folder);
}

async function installPython({ name, packages }: RosterEntry, folder: string): Promise<InstalledClient> {
  const uv = join(folder, '..', 'uv', 'bin', 'uv');
  if (!existsSync(uv)) {
    await must(['python3', '-m', 'venv', join(folder, '..', 'uv')], folder);
    await must([join(folder, '..', 'uv', 'bin', 'python'), '-m', 'pip', 'install', '--quiet', 'uv'], folder);
  }
  const python = join(folder, 'venv', 'bin', 'python');
  if (!existsSync(python)) await must([uv, 'venv', '--quiet', join(folder, 'venv')], folder);
  await must([uv, 'pip', 'install', '--quiet', '--upgrade', '--python', python, ...packages], folder);
  const shown = await must([uv, 'pip', 'show', '--python', python, packages[0] ?? ''], folder);
  return {
    version: /^Version: (.+)$/m.exec(shown)?.[1] ?? '?',
    command: [python, join(HERE, name, 'main.py')],
    environment: { PYTHONPATH: join(HERE, 'shared'), PYTHONDONTWRITEBYTECODE: '1' },
    folder,
  };
}

/** Copied beside its packages, since a program's imports are looked for from where it is. */
async function installJavaScript({ name, packages }: RosterEntry, folder: string): Promise<InstalledClient> {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const newest = packages.map((one) => `${one}@latest`);
  await must([process.execPath, 'add', '--ignore-scripts', ...newest], folder);
  copyFileSync(join(HERE, 'shared', 'told.js.txt'), join(folder, 'told.js'));
  copyFileSync(join(HERE, name, 'main.js.txt'), join(folder, 'main.js'));
  const manifest = readFileSync(join(folder, 'node_modules', packages[0] ?? '', 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  return { version, command: [process.execPath, join(folder, 'main.js')], environment: {}, folder };
}

async function installGo({ name, packages }: RosterEntry, folder: string): Promise<InstalledClient> {
  writeFileSync(join(folder, 'go.mod'), 'module client\n\ngo 1.24\n');
  for (const file of ['shared/told.go', `${name}/main.go`])
    copyFileSync(join(HERE, file), join(folder, file.split('/').at(-1) ?? ''));
  await must(['go', 'get', ...packages.map((one) => `${one}@latest`)], folder);
  await must(['go', 'build', '-o', 'client', '.'], folder);
  const listed = await must(['go', 'list', '-m', packages[0] ?? ''], folder);
  const version = listed.trim().split(' ').at(-1)?.replace(/^v/, '') ?? '?';
  return { version, command: [join(folder, 'client')], environment: {}, folder };
}

async function installRust({ name }: RosterEntry, folder: string): Promise<InstalledClient> {
  mkdirSync(join(folder, 'src'), { recursive: true });
  copyFileSync(join(HERE, name, 'Cargo.toml'), join(folder, 'Cargo.toml'));
  copyFileSync(join(HERE, name, 'main.rs'), join(folder, 'src', 'main.rs'));
  await must(['cargo', 'update', '--quiet'], folder);
  await must(['cargo', 'build', '--quiet'], folder);
  const lock = readFileSync(join(folder, 'Cargo.lock'), 'utf8');
  const version = new RegExp(`name = "${name}"\\nversion = "([^"]+)"`).exec(lock)?.[1] ?? '?';
  return { version, command: [join(folder, 'target', 'debug', 'client')], environment: {}, folder };
}

async function installJava({ name, packages }: RosterEntry, folder: string): Promise<InstalledClient> {
  const dependencies = packages.map((one) => {
    const [group, artifact] = one.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>RELEASE</version></dependency>`;
  });
  const project = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>clients</groupId><artifactId>client</artifactId><version>1</version>
<dependencies>${dependencies.join('\n')}</dependencies></project>`;
  writeFileSync(join(folder, 'pom.xml'), project);
  await must(['mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=jars'], folder);
  await must(
    ['javac', '-cp', 'jars/*', '-d', 'classes', sharedJava(), join(HERE, name, 'Main.java')],
    folder,
  );
  const artifact = packages[0]?.split(':')[1] ?? '';
  const jar = new RegExp(`^${artifact}-([0-9][^-]*)\\.jar$`);
  const version = readdirSync(join(folder, 'jars')).flatMap((file) => jar.exec(file)?.[1] ?? [])[0] ?? '?';
  return { version, command: ['java', '-cp', 'jars/*:classes', 'Main'], environment: {}, folder };
}

function sharedJava(): string {
  return join(HERE, 'shared', 'Told.java');
}

async function must(command: readonly string[], folder: string): Promise<string> {
  const environment = process.env as Record<string, string>;
  const { exitCode, output } = await runProgram({ command, folder, environment, timeoutMs: INSTALL_MS });
  if (exitCode !== 0) throw new Error(`${command.slice(0, 3).join(' ')} failed:\n${output.slice(-3_000)}`);
  return output;
}
