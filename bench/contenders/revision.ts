import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort, launch } from '../../conformance/machine/process.ts';
import type { Contender } from './contender.ts';

/** A Tollgate of any commit: knows nothing of it but its start script, its command line and its catalog file. */
export interface RevisionOptions {
  readonly name: string;
  /** The folder of its sources, with `node_modules`. */
  readonly root: string;
  readonly backend: string;
  readonly folder: string;
  readonly accounts: number;
  readonly databaseUrl?: string | undefined;
  readonly databasePids?: readonly number[] | undefined;
}

export interface RevisionContender extends Contender {
  readonly dataFolder: string;
  /** Absent on SQLite. */
  readonly databaseUrl: string | undefined;
}

const HERE = resolve(import.meta.dir, '../..');
const INSTALL_MS = 300_000;

/** The sources of a commit in a folder of their own. Its packages are ours where it needs the same ones. */
export function checkOut(revision: string, folder: string): string {
  const root = join(folder, `sources-${revision.replaceAll(/\W+/g, '-')}`);
  mkdirSync(root, { recursive: true });
  const archive = execFileSync('git', ['archive', '--format=tar', revision], {
    cwd: HERE,
    maxBuffer: 512 * 1_048_576,
  });
  execFileSync('tar', ['-x', '-C', root], { input: archive });
  if (dependenciesOf(root) === dependenciesOf(HERE))
    symlinkSync(join(HERE, 'node_modules'), join(root, 'node_modules'));
  else execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: root, timeout: INSTALL_MS });
  return root;
}

function dependenciesOf(root: string): string {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: unknown;
  };
  return JSON.stringify(dependencies);
}

export async function startRevision(options: RevisionOptions): Promise<RevisionContender> {
  const { name, root, folder, backend } = options;
  const home = join(folder, name.replaceAll(/\W+/g, '-'));
  mkdirSync(home, { recursive: true });
  const catalog = join(home, 'tollgate.yaml');
  writeFileSync(catalog, catalogYaml(backend));
  const port = await freePort();
  const dataFolder = join(home, 'data');
  const env: Record<string, string> = {
    TOLLGATE_CONFIG: catalog,
    TOLLGATE_DATA: dataFolder,
    TOLLGATE_SECRET: 'a secret for measurements only',
    TOLLGATE_PORT: String(port),
    TOLLGATE_GRACE_SECONDS: '1',
    BENCH_BACKEND_KEY: 'sk-backend',
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
  };
  const main = mainOf(root);
  const tokens = Array.from({ length: options.accounts }, (_, number) => newToken(main, env, number));
  const { pid, stop } = await launch({
    name,
    command: [process.execPath, main, 'serve'],
    env,
    folder,
    port,
  });
  return {
    name,
    version: name,
    pids: [pid],
    databasePids: options.databasePids ?? [],
    urls: [`http://127.0.0.1:${port}/api/public/v1/chat/completions`],
    headers: tokens.map((token) => ({ authorization: `Bearer ${token}` })),
    stop,
    dataFolder,
    databaseUrl: options.databaseUrl,
  };
}

function mainOf(root: string): string {
  const found = ['src/main/main.ts', 'src/main.ts'].map((path) => join(root, path)).find(existsSync);
  if (found === undefined) throw new Error(`there is no main file in ${root}`);
  return found;
}

const BALANCE_USD = '100000';

function newToken(main: string, env: Readonly<Record<string, string>>, number: number): string {
  const words = ['account', 'create', `bench-${number}@example.com`, '--balance', BALANCE_USD, '--json'];
  const answer = execFileSync(process.execPath, [main, ...words], { env: { ...process.env, ...env } });
  return (JSON.parse(answer.toString()) as { readonly token: string }).token;
}

function catalogYaml(backend: string): string {
  return `
upstreams:
  backend: { kind: openai, base_url: "${backend}", api_key: \${BENCH_BACKEND_KEY} }
lists:
  chat_models:
    - { model: m, display_name: Model M, input: 1, output: 2, context: 200000, max_output: 100000 }
endpoints:
  svc_chat: { name: primary chat, type: chat_completion, lists: [chat_models], upstreams: [backend] }
limits: { chat_per_minute: 1000000, images_per_minute: 1000000, concurrent: 100000 }
`;
}
