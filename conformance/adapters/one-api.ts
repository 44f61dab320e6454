import { dirname, join } from 'node:path';
import { CHAT_MODEL, IMAGE_MODEL, THINKING_MODEL } from '../backend/backend.ts';
import { PRICES } from '../backend/invoice.ts';
import type { Account, AccountWish, Adapter, AdapterContext, Gateway } from '../gateway.ts';
import { buildGoModule } from '../machine/go-module.ts';
import { Nodes } from '../machine/nodes.ts';
import { launch, type Launched } from '../machine/process.ts';
import { startShared } from '../machine/shared-services.ts';
import { HttpAdmin } from './http-admin.ts';

const VERSION = '0.6.10';
/** Its amounts are integers of this unit. */
const PER_USD = 500_000;
/** A ratio of 1 is $2 a million tokens, or $0.002 an image. */
const RATIO_USD = 2;
const RATIO_IMAGE_USD = 0.002;
/** The password that its first user has until it is changed. */
const ROOT_PASSWORD = '123456';
const PASSWORD = 'conformance-1';

/** Its vocabularies: what it would download at its start, by the hash of each address, as the library that it uses looks for them. */
const VOCABULARIES = ['cl100k_base', 'o200k_base'].map(
  (name) =>
    `cp "$loader/assets/${name}.tiktoken" "tiktoken/$(printf %s https://openaipublic.blob.core.windows.net/encodings/${name}.tiktoken | sha1sum | cut -c1-40)"`,
);

/** https://github.com/songquanpeng/one-api: its README and docker-compose.yml. */
export const oneApi: Adapter = {
  name: 'one-api',
  about: 'one-api as its docker-compose.yml has it, with Redis, on Postgres; two nodes',
  start: startOneApi,
};

async function startOneApi(context: AdapterContext): Promise<Gateway> {
  const program = buildGoModule({
    name: 'one-api',
    path: 'github.com/songquanpeng/one-api',
    version: VERSION,
    pages: ['web/build/default/index.html'],
    more: [
      'mkdir -p tiktoken',
      `loader=$(go mod download -json github.com/pkoukk/tiktoken-go-loader@v0.0.2 | sed -n 's/^.*"Dir": "\\(.*\\)".*$/\\1/p')`,
      ...VOCABULARIES,
      'chmod -R u+w tiktoken',
    ],
  });
  const shared = await startShared(context, 'one-api');
  const env: Record<string, string> = {
    SQL_DSN: shared.databaseUrl,
    REDIS_CONN_STRING: shared.redis.url,
    SESSION_SECRET: 'conformance-session',
    SYNC_FREQUENCY: '5',
    SQL_MAX_OPEN_CONNS: '40',
    ENFORCE_INCLUDE_USAGE: 'true',
    TIKTOKEN_CACHE_DIR: join(dirname(program), 'tiktoken'),
    // It counts what an operator does, not what clients do.
    GLOBAL_API_RATE_LIMIT: '1000000',
  };
  const start = (port: number, index: number): Promise<Launched> =>
    launch({
      name: `one-api ${port}`,
      command: [program, '--port', String(port), '--log-dir', shared.folder],
      env: { ...env, PORT: String(port), ...(index > 0 ? { NODE_TYPE: 'slave' } : {}) },
      folder: shared.folder,
      cwd: shared.folder,
      port,
      startMs: 60_000,
    });
  let admin: HttpAdmin | undefined;
  const nodes = await Nodes.start(2, start, async (port) => {
    admin = new HttpAdmin(`http://127.0.0.1:${port}`);
    await setUp(admin, context.backend.url);
  });
  return {
    ...DESCRIBED,
    nodes: nodes.urls.map((url) => `${url}/v1`),
    money: {
      account: (wish) => (admin ? account(admin, wish) : Promise.reject(new Error('it was not set up'))),
      takesBack: true,
    },
    restartKilled: () => nodes.restartKilled(),
    freeze: (ms) => nodes.freeze(ms),
    async stop() {
      await nodes.stop();
      await shared.stop();
    },
  };
}

const DESCRIBED = {
  version: `one-api ${VERSION}`,
  settings: [
    "Postgres in place of its compose file's MySQL, Redis, SYNC_FREQUENCY=5, SQL_MAX_OPEN_CONNS=40 for each of two nodes (its default of 1,000 is more than Postgres takes)",
    'RetryTimes=2 (default 0), ENFORCE_INCLUDE_USAGE=true (default false)',
    'each customer is a user with a balance and one unlimited token',
  ],
  shims: [
    'compiled with an empty page in place of its console, which its Go module leaves out; vocabularies from the Go module of the library that it uses, in TIKTOKEN_CACHE_DIR, because it could not download them',
  ],
  chatModel: CHAT_MODEL,
  thinkingModel: THINKING_MODEL,
  imageModel: IMAGE_MODEL,
  limitsBy: 'nothing' as const,
  settleMs: 2_000,
  recoverMs: 20_000,
};

async function setUp(admin: HttpAdmin, backend: string): Promise<void> {
  await admin.signIn('root', ROOT_PASSWORD);
  const ratio = PRICES.inputPerMillionUsd / RATIO_USD;
  const forChats = (value: number): Record<string, number> => ({
    [CHAT_MODEL]: value,
    [THINKING_MODEL]: value,
  });
  const options = {
    ModelRatio: { ...forChats(ratio), [IMAGE_MODEL]: PRICES.imageUsd / RATIO_IMAGE_USD },
    CompletionRatio: forChats(PRICES.outputPerMillionUsd / PRICES.inputPerMillionUsd),
    GroupRatio: { default: 1 },
    RetryTimes: 2,
  };
  for (const [key, value] of Object.entries(options))
    await admin.call('PUT', '/api/option/', { key, value: JSON.stringify(value) });
  await admin.call('POST', '/api/channel/', {
    type: 1,
    name: 'backend',
    key: 'sk-backend',
    base_url: new URL(backend).origin,
    models: [CHAT_MODEL, THINKING_MODEL, IMAGE_MODEL].join(','),
    group: 'default',
  });
}

async function account(admin: HttpAdmin, { usd }: AccountWish): Promise<Account> {
  const username = `u${crypto.randomUUID().slice(0, 8)}`;
  await admin.call('POST', '/api/user/', { username, password: PASSWORD, display_name: username });
  const found = await admin.call<readonly User[]>('GET', `/api/user/search?keyword=${username}`);
  const id = found.find((one) => one.username === username)?.id;
  if (id === undefined) throw new Error(`there is no user ${username}`);
  const put = (quota: number): Promise<unknown> =>
    admin.call('PUT', '/api/user/', { id, username, display_name: username, group: 'default', quota });
  const quota = Math.round(usd * PER_USD);
  await put(quota);
  const own = new HttpAdmin(admin.url, undefined, randomAddress());
  await own.signIn(username, PASSWORD);
  const { key } = await own.call<{ readonly key: string }>('POST', '/api/token/', {
    name: 'key',
    unlimited_quota: true,
    expired_time: -1,
    remain_quota: 0,
  });
  const read = async (): Promise<number> =>
    (await admin.call<{ readonly quota: number }>('GET', `/api/user/${id}`)).quota;
  return {
    headers: { authorization: `Bearer sk-${key}` },
    spentUsd: async () => (quota - (await read())) / PER_USD,
    async takeBack(amount) {
      // It has no other way than to write a new balance.
      await put((await read()) - Math.round(amount * PER_USD));
    },
  };
}

interface User {
  readonly id: number;
  readonly username: string;
}

function randomAddress(): string {
  return ['10', ...crypto.getRandomValues(new Uint8Array(3))].join('.');
}
