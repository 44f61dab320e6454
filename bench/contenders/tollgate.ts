import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../../test/support/postgres.ts';
import { readConfig } from '../../src/main/config.ts';
import { BUN_SETTINGS } from '../../src/main/bun-settings.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { makeLog } from '../../src/std/log.ts';
import { MAX_BALANCE } from '../../src/std/money.ts';
import { closeServices, openServices, type Services } from '../../src/main/services.ts';
import { freePort, launch } from '../../conformance/machine/process.ts';
import type { Contender } from './contender.ts';

export interface TollgateOptions {
  readonly name: string;
  readonly backend: string;
  readonly folder: string;
  readonly accounts: number;
  readonly nodes?: number;
  readonly databaseUrl?: string;
  readonly databasePids?: readonly number[];
  /** Lines of YAML for further models of the list. */
  readonly moreModels?: string;
  /** Whether it serves HTTPS itself, with a certificate of its own making. */
  readonly tls?: boolean;
  /** Fills the store before the server starts. */
  readonly prepare?: (services: Services) => Promise<void>;
  /** Flags for Bun itself, such as those of its profiler. */
  readonly bunFlags?: readonly string[];
  /** Settings of the runtime, by name. */
  readonly bunEnv?: Readonly<Record<string, string>>;
}

export interface TollgateContender extends Contender {
  /** For commands on the same store. */
  readonly env: Readonly<Record<string, string>>;
  readonly tokens: readonly string[];
  readonly dataFolder: string;
  /** What its first node writes. */
  readonly logFile: string;
}

const MAIN = join(import.meta.dir, '../../src/main/main.ts');
const SECRET = 'a secret for measurements only';
const MOST_PER_MINUTE = 1_000_000;

/** The whole of Tollgate as an operator starts it: `tollgate serve` in processes of its own, on a store of its own. */
export async function startTollgate(options: TollgateOptions): Promise<TollgateContender> {
  const { name, folder, nodes = 1 } = options;
  const home = join(folder, name.replaceAll(/\W+/g, '-'));
  const dataFolder = join(home, 'data');
  mkdirSync(dataFolder, { recursive: true });
  const catalog = join(home, 'tollgate.yaml');
  const tls = options.tls === true ? 'tls: self-signed\n' : '';
  writeFileSync(catalog, tls + catalogYaml(options.backend, options.moreModels));
  const env: Record<string, string> = {
    TOLLGATE_CONFIG: catalog,
    TOLLGATE_DATA: dataFolder,
    TOLLGATE_SECRET: SECRET,
    BENCH_BACKEND_KEY: 'sk-backend',
    // On a node of an operator the settings of its service would be used.
    TOLLGATE_ENV_FILE: '/dev/null',
    // What `serve` sets by starting itself again; given here, the flags for Bun reach the process that serves.
    ...BUN_SETTINGS,
    TOLLGATE_GRACE_SECONDS: '1',
    TOLLGATE_DRAIN_SECONDS: '0',
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
  };
  const tokens = await prepare(env, options);
  const running = await Promise.all(
    Array.from({ length: nodes }, async (_, index) => {
      const port = await freePort();
      const command = [process.execPath, ...(options.bunFlags ?? []), MAIN, 'serve'];
      return await launch({
        name: `${name} ${index}`,
        command,
        env: { ...env, ...options.bunEnv, TOLLGATE_PORT: String(port) },
        folder,
        port,
      });
    }),
  );
  return {
    name,
    version: await versionOf(),
    pids: running.map(({ pid }) => pid),
    databasePids: options.databasePids ?? [],
    urls: running.map(
      ({ port }) => `${tls === '' ? 'http' : 'https'}://127.0.0.1:${port}/api/public/v1/chat/completions`,
    ),
    headers: tokens.map((token) => ({ authorization: `Bearer ${token}` })),
    stop: async () => void (await Promise.all(running.map(({ stop }) => stop()))),
    env,
    tokens,
    dataFolder,
    logFile: running[0]?.logFile ?? '',
  };
}

export interface BenchPostgres {
  readonly pid: number;
  freshDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** A real server that syncs its log, as in production. */
export async function startBenchPostgres(): Promise<BenchPostgres> {
  const server = await startPostgres({ fsync: true });
  const pid = Number(readFileSync(join(server.folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
  return { pid, freshDatabase: () => server.emptyDatabase(), stop: () => server.stop() };
}

/** Accounts with more money and wider limits than any run needs. */
async function prepare(env: Readonly<Record<string, string>>, options: TollgateOptions): Promise<string[]> {
  const services = await openServices(
    readConfig(env),
    makeLog(() => undefined),
    systemClock,
  );
  try {
    const tokens: string[] = [];
    for (let number = 0; number < options.accounts; number++) {
      const email = `bench-${number}@example.com`;
      const { account, token } = await services.accounts.create(email, {
        balance: MAX_BALANCE,
        actor: 'bench',
      });
      const limits = {
        chatPerMinute: MOST_PER_MINUTE,
        imagesPerMinute: MOST_PER_MINUTE,
        concurrent: MOST_PER_MINUTE,
      };
      await services.accounts.setLimits(account.id as AccountId, limits);
      tokens.push(token);
    }
    await options.prepare?.(services);
    return tokens;
  } finally {
    await closeServices(services);
  }
}

function catalogYaml(backend: string, moreModels = ''): string {
  return `
upstreams:
  backend: { kind: openai, base_url: "${backend}", api_key: \${BENCH_BACKEND_KEY} }
lists:
  chat_models:
    - { model: m, display_name: Model M, input: 1, output: 2, context: 200000, max_output: 100000 }
${moreModels}
  image_models:
    - { model: i, image: 0.01, sizes: [256x256] }
endpoints:
  svc_images: { name: primary images, type: image_generation, lists: [image_models], upstreams: [backend] }
  svc_chat: { name: primary chat, type: chat_completion, lists: [chat_models], upstreams: [backend] }
`;
}

async function versionOf(): Promise<string> {
  const { version } = (await import('../../package.json')) as { readonly version: string };
  const commit = Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], { cwd: import.meta.dir })
    .stdout.toString()
    .trim();
  return `Tollgate ${version} at ${commit || 'no commit'}`;
}
