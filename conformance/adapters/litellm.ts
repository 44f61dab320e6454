import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SQL } from 'bun';
import { CHAT_MODEL, IMAGE_MODEL, THINKING_MODEL } from '../backend/backend.ts';
import { PRICES } from '../backend/invoice.ts';
import type { Account, AccountWish, Adapter, AdapterContext, Gateway } from '../gateway.ts';
import { installPeer } from '../machine/install.ts';
import { Nodes } from '../machine/nodes.ts';
import { launch, type Launched } from '../machine/process.ts';
import { startShared } from '../machine/shared-services.ts';

export const LITELLM_VERSION = '1.106.2';
const PRISMA_PYTHON_VERSION = '0.15.0';
const PRISMA_VERSION = '5.17.0';
const PACKAGES = 'lib/python3.11/site-packages';
const MASTER_KEY = 'sk-conformance-4f1c9a7de2b85036';
/** Its charges are written to the database this often. */
const FLUSH_SECONDS = 5;
/** A Python program of this size takes its time to load, more so on a busy machine. */
const LITELLM_START_MS = 180_000;

/** https://docs.litellm.ai/docs/proxy/prod */
export const liteLlm: Adapter = {
  name: 'litellm',
  about: "LiteLLM's proxy as its production page has it: Postgres, Redis; two nodes",
  start: startLiteLlm,
};

/** The program, with what it needs for a database; the same for the bench that wants none. */
export function installLiteLlm(): string {
  const program = installPeer({
    name: 'litellm',
    version: LITELLM_VERSION,
    program: 'bin/litellm',
    commands: (venv) => [
      ['python3', '-m', 'venv', venv],
      [
        join(venv, 'bin/pip'),
        'install',
        '-q',
        '--only-binary',
        ':all:',
        `litellm[proxy]==${LITELLM_VERSION}`,
        `prisma==${PRISMA_PYTHON_VERSION}`,
      ],
      [
        'npm',
        'install',
        // What they would do after it is to download engines, which the one of `prisma-engine/` replaces.
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--prefix',
        join(venv, 'prisma'),
        `prisma@${PRISMA_VERSION}`,
        `@prisma/client@${PRISMA_VERSION}`,
        `@prisma/adapter-pg@${PRISMA_VERSION}`,
        'pg@8.12.0',
      ],
      ['sh', '-c', generateScript(venv)],
    ],
  });
  return program;
}

/** Prisma looks for engines to download unless it is told where each is. */
function generateScript(venv: string): string {
  const engine = join(venv, 'engine');
  const engines = ['QUERY_ENGINE_BINARY', 'QUERY_ENGINE_LIBRARY', 'SCHEMA_ENGINE_BINARY'];
  return [
    'set -e',
    `printf '#!/bin/sh\\nexec "$PRISMA_ENGINE_BUN" "$PRISMA_ENGINE_SCRIPT" "$@"\\n' > ${engine}`,
    `chmod +x ${engine}`,
    `export PATH=${join(venv, 'bin')}:$PATH PRISMA_CLI_QUERY_ENGINE_TYPE=binary PRISMA_ENGINE_BUN=${process.execPath} PRISMA_ENGINE_SCRIPT=${ENGINE_SCRIPT}`,
    `export ${engines.map((name) => `PRISMA_${name}=${engine}`).join(' ')}`,
    `node ${join(venv, 'prisma/node_modules/prisma/build/index.js')} generate --schema ${join(venv, PACKAGES, 'litellm/proxy/schema.prisma')}`,
  ].join('\n');
}

const ENGINE_SCRIPT = join(import.meta.dir, '../prisma-engine/engine.ts');

async function startLiteLlm(context: AdapterContext): Promise<Gateway> {
  const program = installLiteLlm();
  const shared = await startShared(context, 'litellm');
  const { folder, redis, databaseUrl: database } = shared;
  await migrate(database, join(dirname(dirname(program)), PACKAGES, 'litellm_proxy_extras/migrations'));
  const config = join(folder, 'config.yaml');
  writeFileSync(config, configYaml(context.backend.url, redis.port));
  const nodes = await Nodes.start(2, (port) =>
    launchLiteLlm({ program, config, folder, port, env: environment(program, database) }),
  );
  const [first = ''] = nodes.urls;
  return {
    version: `litellm ${LITELLM_VERSION}`,
    settings: SETTINGS,
    shims: SHIMS,
    nodes: nodes.urls.map((url) => `${url}/v1`),
    chatModel: CHAT_MODEL,
    thinkingModel: THINKING_MODEL,
    imageModel: IMAGE_MODEL,
    limitsBy: 'clock',
    settleMs: FLUSH_SECONDS * 1_000 + 5_000,
    recoverMs: 20_000,
    money: { account: (wish) => account(first, wish), takesBack: true },
    restartKilled: () => nodes.restartKilled(),
    freeze: (ms) => nodes.freeze(ms),
    async stop() {
      await nodes.stop();
      await shared.stop();
    },
  };
}

const SETTINGS = [
  'Postgres, Redis for routing, limits and spend; two nodes with one worker each',
  `proxy_batch_write_at: ${FLUSH_SECONDS} (its production page has 60, so it loses less here), num_retries: 2, request_timeout: 60, stream_timeout: 10, LITELLM_MODE=PRODUCTION`,
  'each customer is a key with a max_budget',
];

const SHIMS = [
  'the Rust engine of its Prisma client could not be downloaded: the same engine as WebAssembly took its place (conformance/prisma-engine), and its migrations were run by the suite',
];

function environment(program: string, database: string): Record<string, string> {
  const venv = dirname(dirname(program));
  return {
    DATABASE_URL: database,
    DISABLE_SCHEMA_UPDATE: 'true',
    PRISMA_QUERY_ENGINE_BINARY: join(venv, 'engine'),
    PRISMA_ENGINE_BUN: process.execPath,
    PRISMA_ENGINE_SCRIPT: ENGINE_SCRIPT,
    PRISMA_MODULES: join(venv, 'prisma/node_modules'),
    PATH: `${join(venv, 'bin')}:${process.env['PATH'] ?? ''}`,
    LITELLM_SALT_KEY: 'sk-conformance-salt-1',
  };
}

export interface LiteLlmStart {
  readonly program: string;
  readonly config: string;
  readonly folder: string;
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** One worker: a node is one process here as elsewhere. */
export async function launchLiteLlm({
  program,
  config,
  folder,
  port,
  env = {},
}: LiteLlmStart): Promise<Launched> {
  const address = ['--host', '127.0.0.1', '--port', String(port)];
  const started = await launch({
    name: `litellm ${port}`,
    command: [program, '--config', config, ...address, '--num_workers', '1', '--telemetry', 'False'],
    env: {
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_LOG: 'ERROR',
      LITELLM_MODE: 'PRODUCTION',
      ...env,
    },
    folder,
    cwd: folder,
    port,
    startMs: LITELLM_START_MS,
  });
  await untilReady(port);
  return started;
}

/** As `psql` runs them: in the order of their names; what cannot be said twice does not end it. */
async function migrate(database: string, folder: string): Promise<void> {
  const sql = new SQL(database, { max: 1 });
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of names.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    try {
      await sql.unsafe(readFileSync(join(folder, name, 'migration.sql'), 'utf8')).simple();
    } catch (error) {
      if (!/already exists|does not exist/.test(String(error))) throw error;
    }
  }
  await sql.close();
}

async function untilReady(port: number): Promise<void> {
  const deadline = Date.now() + LITELLM_START_MS;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/health/readiness`).catch(() => undefined);
    if (response?.ok === true) return;
    if (Date.now() > deadline) throw new Error(`litellm was not ready: ${await response?.text()}`);
    await Bun.sleep(500);
  }
}

function configYaml(backend: string, redisPort: number): string {
  const perToken = (usd: number): string => (usd / 1_000_000).toFixed(9);
  const chat = (name: string): string => `  - model_name: ${name}
    litellm_params: { model: "openai/${name}", api_base: "${backend}", api_key: sk-backend, stream_timeout: 10 }
    model_info:
      mode: chat
      input_cost_per_token: ${perToken(PRICES.inputPerMillionUsd)}
      cache_read_input_token_cost: ${perToken(PRICES.cachedInputPerMillionUsd)}
      output_cost_per_token: ${perToken(PRICES.outputPerMillionUsd)}
      input_cost_per_token_priority: ${perToken(PRICES.inputPerMillionUsd * PRICES.priorityFactor)}
      output_cost_per_token_priority: ${perToken(PRICES.outputPerMillionUsd * PRICES.priorityFactor)}
`;
  return `model_list:
${chat(CHAT_MODEL)}${chat(THINKING_MODEL)}  - model_name: ${IMAGE_MODEL}
    litellm_params: { model: "openai/${IMAGE_MODEL}", api_base: "${backend}", api_key: sk-backend }
    model_info: { mode: image_generation, output_cost_per_image: ${PRICES.imageUsd}, input_cost_per_image: ${PRICES.imageUsd} }
router_settings: { num_retries: 2, redis_host: 127.0.0.1, redis_port: ${redisPort} }
litellm_settings:
  num_retries: 2
  request_timeout: 60
  cache: true
  cache_params: { type: redis, host: 127.0.0.1, port: ${redisPort}, supported_call_types: [] }
general_settings:
  master_key: ${MASTER_KEY}
  database_url: os.environ/DATABASE_URL
  proxy_batch_write_at: ${FLUSH_SECONDS}
  use_redis_transaction_buffer: true
  database_connection_pool_limit: 10
`;
}

async function account(url: string, { usd, requestsPerMinute }: AccountWish): Promise<Account> {
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${MASTER_KEY}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${(await response.text()).slice(0, 200)}`);
    return await response.json();
  };
  const limits = requestsPerMinute === undefined ? {} : { rpm_limit: requestsPerMinute };
  const { key } = (await call('POST', '/key/generate', { max_budget: usd, ...limits })) as {
    readonly key: string;
  };
  return {
    headers: { authorization: `Bearer ${key}` },
    async spentUsd() {
      const { info } = (await call('GET', `/key/info?key=${key}`)) as {
        readonly info: { readonly spend: number };
      };
      return info.spend;
    },
    async takeBack(amount) {
      await call('POST', '/key/update', { key, max_budget: usd - amount });
    },
  };
}
