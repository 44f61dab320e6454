import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CHAT_MODEL, IMAGE_MODEL, THINKING_MODEL } from '../backend/backend.ts';
import { PRICES } from '../backend/invoice.ts';
import type { Account, AccountWish, Adapter, AdapterContext, Gateway } from '../gateway.ts';
import { buildGoModule } from '../machine/go-module.ts';
import { Nodes } from '../machine/nodes.ts';
import { launch, type Launched } from '../machine/process.ts';
import { startShared } from '../machine/shared-services.ts';
import { HttpAdmin } from './http-admin.ts';

const VERSION = '0.10.0';
/** Its amounts are integers of this unit. */
const PER_USD = 500_000;
/** A ratio of 1 is $2 a million tokens. */
const RATIO_USD = 2;
const PASSWORD = 'conformance-1';
const LIMITED_GROUP = 'limited';
const LIMIT_PER_MINUTE = 20;
const BATCH_SECONDS = 5;

/** https://docs.newapi.pro, and the docker-compose.yml of its sources. */
export const newApi: Adapter = {
  name: 'new-api',
  about: 'new-api as its docker-compose.yml has it: Postgres, Redis, batched updates; two nodes',
  start: (context) => startNewApi(context, true),
};

export const newApiSqlite: Adapter = {
  name: 'new-api-sqlite',
  about: 'new-api on SQLite, one node, as its shortest installation has it',
  start: (context) => startNewApi(context, false),
};

async function startNewApi(context: AdapterContext, isShared: boolean): Promise<Gateway> {
  const program = buildGoModule({
    name: 'new-api',
    path: 'github.com/QuantumNous/new-api',
    version: VERSION,
    pages: ['web/dist/index.html'],
  });
  const shared = isShared ? await startShared(context, 'new-api') : undefined;
  const folder = shared?.folder ?? join(context.folder, 'new-api-sqlite');
  mkdirSync(folder, { recursive: true });
  const env: Record<string, string> = {
    SESSION_SECRET: 'conformance-session',
    CRYPTO_SECRET: 'conformance-crypto',
    ERROR_LOG_ENABLED: 'true',
    STREAMING_TIMEOUT: '10',
    // They count what an operator and people who sign in do, not what clients do.
    GLOBAL_API_RATE_LIMIT_ENABLE: 'false',
    CRITICAL_RATE_LIMIT_ENABLE: 'false',
    ...(shared
      ? {
          SQL_DSN: shared.databaseUrl,
          REDIS_CONN_STRING: shared.redis.url,
          BATCH_UPDATE_ENABLED: 'true',
          BATCH_UPDATE_INTERVAL: String(BATCH_SECONDS),
          SQL_MAX_OPEN_CONNS: '40',
          SYNC_FREQUENCY: '5',
        }
      : {}),
  };
  const start = (port: number, index: number): Promise<Launched> =>
    launch({
      name: `new-api ${port}`,
      command: [program, '--port', String(port), '--log-dir', folder],
      env: { ...env, PORT: String(port), ...(index > 0 ? { NODE_TYPE: 'slave' } : {}) },
      folder,
      cwd: folder,
      port,
      startMs: 60_000,
    });
  let admin: HttpAdmin | undefined;
  const nodes = await Nodes.start(isShared ? 2 : 1, start, async (port) => {
    admin = new HttpAdmin(`http://127.0.0.1:${port}`, 'New-Api-User');
    await setUp(admin, context.backend.url);
  });
  return {
    ...describeNewApi(isShared),
    nodes: nodes.urls.map((url) => `${url}/v1`),
    money: {
      account: (wish) => (admin ? account(admin, wish) : Promise.reject(new Error('it was not set up'))),
      takesBack: true,
    },
    restartKilled: () => nodes.restartKilled(),
    freeze: (ms) => nodes.freeze(ms),
    async stop() {
      await nodes.stop();
      await shared?.stop();
    },
  };
}

function describeNewApi(isShared: boolean) {
  return {
    version: `new-api ${VERSION}`,
    settings: [
      isShared
        ? `Postgres, Redis, BATCH_UPDATE_ENABLED=true (interval ${BATCH_SECONDS} s), SYNC_FREQUENCY=5, SQL_MAX_OPEN_CONNS=40 for each of two nodes (its default of 1,000 is more than Postgres takes)`
        : 'SQLite, one node',
      'RetryTimes=2 (default 0), STREAMING_TIMEOUT=10 (default 300)',
      'each customer is a user with a balance and one unlimited token',
    ],
    shims: ['compiled with an empty page in place of its console, which its Go module leaves out'],
    chatModel: CHAT_MODEL,
    thinkingModel: THINKING_MODEL,
    imageModel: IMAGE_MODEL,
    limitsBy: 'last minute' as const,
    settleMs: isShared ? BATCH_SECONDS * 1_000 + 2_000 : 1_500,
    recoverMs: 20_000,
  };
}

async function setUp(admin: HttpAdmin, backend: string): Promise<void> {
  const root = { username: 'root', password: PASSWORD, confirmPassword: PASSWORD };
  await admin.call('POST', '/api/setup', { ...root, SelfUseModeEnabled: false, DemoSiteEnabled: false });
  await admin.signIn('root', PASSWORD);
  const ratio = PRICES.inputPerMillionUsd / RATIO_USD;
  const forChats = (value: number): string =>
    JSON.stringify({ [CHAT_MODEL]: value, [THINKING_MODEL]: value });
  const options = {
    ModelRatio: forChats(ratio),
    CompletionRatio: forChats(PRICES.outputPerMillionUsd / PRICES.inputPerMillionUsd),
    CacheRatio: forChats(PRICES.cachedInputPerMillionUsd / PRICES.inputPerMillionUsd),
    ModelPrice: JSON.stringify({ [IMAGE_MODEL]: PRICES.imageUsd }),
    GroupRatio: JSON.stringify({ default: 1, [LIMITED_GROUP]: 1 }),
    RetryTimes: '2',
    ModelRequestRateLimitEnabled: 'true',
    ModelRequestRateLimitDurationMinutes: '1',
    ModelRequestRateLimitCount: '0',
    ModelRequestRateLimitSuccessCount: '1000000',
    // The total and the successful ones; the total is the one that is counted before a request is served.
    ModelRequestRateLimitGroup: JSON.stringify({ [LIMITED_GROUP]: [LIMIT_PER_MINUTE, LIMIT_PER_MINUTE] }),
  };
  for (const [key, value] of Object.entries(options)) await admin.call('PUT', '/api/option/', { key, value });
  const channel = {
    type: 1,
    name: 'backend',
    key: 'sk-backend',
    base_url: new URL(backend).origin,
    models: [CHAT_MODEL, THINKING_MODEL, IMAGE_MODEL].join(','),
    group: `default,${LIMITED_GROUP}`,
    groups: ['default', LIMITED_GROUP],
    auto_ban: 0,
  };
  await admin.call('POST', '/api/channel/', { mode: 'single', channel });
}

async function account(admin: HttpAdmin, { usd, requestsPerMinute }: AccountWish): Promise<Account> {
  const group = requestsPerMinute === undefined ? 'default' : LIMITED_GROUP;
  const username = `u${crypto.randomUUID().slice(0, 8)}`;
  const user = { username, password: PASSWORD, display_name: username };
  await admin.call('POST', '/api/user/', user);
  const found = await admin.call<Page<{ readonly id: number; readonly username: string }>>(
    'GET',
    `/api/user/search?keyword=${username}`,
  );
  const id = found.items.find((one) => one.username === username)?.id;
  if (id === undefined) throw new Error(`there is no user ${username}`);
  const put = (quota: number): Promise<unknown> =>
    admin.call('PUT', '/api/user/', { id, username, display_name: username, group, quota });
  const quota = Math.round(usd * PER_USD);
  await put(quota);
  const own = new HttpAdmin(admin.url, 'New-Api-User');
  await own.signIn(username, PASSWORD);
  await own.call('POST', '/api/token/', {
    name: 'key',
    unlimited_quota: true,
    expired_time: -1,
    remain_quota: 0,
  });
  const { items } = await own.call<Page<{ readonly key: string }>>('GET', '/api/token/?p=1&size=10');
  const read = async (): Promise<number> =>
    (await admin.call<{ readonly quota: number }>('GET', `/api/user/${id}`)).quota;
  return {
    headers: { authorization: `Bearer sk-${items[0]?.key}` },
    spentUsd: async () => (quota - (await read())) / PER_USD,
    async takeBack(amount) {
      // It has no other way than to write a new balance.
      await put((await read()) - Math.round(amount * PER_USD));
    },
  };
}

interface Page<Item> {
  readonly items: readonly Item[];
}
