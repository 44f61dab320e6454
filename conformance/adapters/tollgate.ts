import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHAT_MODEL, IMAGE_MODEL, THINKING_MODEL } from '../backend/backend.ts';
import { PRICES } from '../backend/invoice.ts';
import type { Account, AccountWish, Adapter, AdapterContext, Gateway } from '../gateway.ts';
import { Nodes } from '../machine/nodes.ts';
import { launch } from '../machine/process.ts';
import { startPostgres } from '../machine/postgres.ts';

interface TollgateOptions {
  /** The command before its arguments; absent, that of the checkout in which this package lies, else `tollgate`. */
  readonly program?: readonly string[];
  readonly database: 'sqlite' | 'postgres';
  readonly nodes: number;
}

export const tollgateSqlite: Adapter = {
  name: 'tollgate',
  about: 'Tollgate on SQLite, one node',
  start: (context) => startTollgate(context, { database: 'sqlite', nodes: 1 }),
};

export const tollgatePostgres: Adapter = {
  name: 'tollgate-postgres',
  about: 'Tollgate on Postgres, two nodes',
  start: (context) => startTollgate(context, { database: 'postgres', nodes: 2 }),
};

const execute = promisify(execFile);
/** The lease: how long after the death of a node its requests are closed. 120 s unless it is set. */
const LEASE_SECONDS = 10;

export async function startTollgate(context: AdapterContext, options: TollgateOptions): Promise<Gateway> {
  const program = options.program ?? programHere();
  const folder = join(context.folder, `tollgate-${options.database}`);
  mkdirSync(join(folder, 'data'), { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'tollgate.yaml'), catalog(context.backend.url));
  const postgres = options.database === 'postgres' ? await startPostgres() : undefined;
  const env: Record<string, string> = {
    TOLLGATE_CONFIG: join(folder, 'tollgate.yaml'),
    TOLLGATE_DATA: join(folder, 'data'),
    TOLLGATE_ENV_FILE: '/dev/null',
    TOLLGATE_SECRET: 'a secret of the conformance suite',
    TOLLGATE_LEASE_SECONDS: String(LEASE_SECONDS),
    BACKEND_KEY: 'sk-backend',
    ...(postgres === undefined ? {} : { DATABASE_URL: await postgres.database('tollgate') }),
  };
  const nodes = await Nodes.start(options.nodes, (port) =>
    launch({
      name: `tollgate ${port}`,
      command: [...program, 'serve'],
      env: { ...env, TOLLGATE_PORT: String(port) },
      folder,
      port,
    }),
  );
  const site: Site = { program, env, url: nodes.urls[0] ?? '' };
  const { stdout: version } = await execute(program[0] ?? '', [...program.slice(1), 'version'], {
    env: environment(env),
  });
  return {
    version: version.trim(),
    settings: [
      `${options.database === 'sqlite' ? 'SQLite' : 'Postgres, fsync on'}, ${options.nodes} node${options.nodes > 1 ? 's' : ''}`,
      `TOLLGATE_LEASE_SECONDS=${LEASE_SECONDS} (default 120), idle timeout of the backend 5 s (default 60)`,
      'no limits but those of the cases; all else as it comes',
    ],
    shims: [],
    nodes: nodes.urls.map((url) => `${url}/v1`),
    chatModel: `svc_chat/${CHAT_MODEL}`,
    thinkingModel: `svc_chat/${THINKING_MODEL}`,
    imageModel: `svc_images/${IMAGE_MODEL}`,
    limitsBy: 'last minute',
    // What nobody reported is counted on a thread of its own, which loads a vocabulary when it is first needed.
    // On a busy machine that took longer than two seconds, and a hold that is still open reads as spent.
    settleMs: 8_000,
    recoverMs: 2 * LEASE_SECONDS * 1_000 + 10_000,
    money: { account: accountsOf(site, await operatorApi(site)), takesBack: true },
    restartKilled: () => nodes.restartKilled(),
    freeze: (ms) => nodes.freeze(ms),
    async stop() {
      await nodes.stop();
      await postgres?.stop();
    },
  };
}

function programHere(): readonly string[] {
  const beside = join(import.meta.dir, '../../src/main/main.ts');
  return existsSync(beside) ? [process.execPath, beside] : ['tollgate'];
}

interface Site {
  readonly program: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly url: string;
}

const OWNER = { email: 'owner@example.com', password: 'the owner of the suite' };
const DAY_MS = 86_400_000;

type Post = <Data>(path: string, body: object, method?: 'PATCH') => Promise<Data>;

/** The first owner is made on the command line; the owner's operator token then makes customers. */
async function operatorApi({ program, env, url }: Site): Promise<Post> {
  const [file = '', ...before] = program;
  const words = ['account', 'create', OWNER.email, '--admin', '--password', OWNER.password, '--json'];
  await execute(file, [...before, ...words], { env: environment(env) });
  const inConsole = { 'sec-fetch-site': 'same-origin' };
  const signedIn = await answerOf(`${url}/api/auth/sign-in/email`, OWNER, inConsole);
  const cookies = signedIn.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  const made = await answerOf(
    `${url}/api/console/admin/operator-tokens`,
    { name: 'conformance', role: 'full', expiresAt: Date.now() + DAY_MS },
    { ...inConsole, cookie: cookies.join('; ') },
  );
  const { token } = (await made.json()) as { readonly token: string };
  return async <Data>(path: string, body: object, method?: 'PATCH') => {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() };
    const response = await answerOf(`${url}/api/operator/v1${path}`, body, headers, method);
    // Whoever calls an operation knows what it answers.
    return (await response.json()) as Data;
  };
}

async function answerOf(
  address: string,
  body: object,
  headers: Readonly<Record<string, string>>,
  method: 'POST' | 'PATCH' = 'POST',
): Promise<Response> {
  const response = await fetch(address, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${address} answered ${response.status}: ${await response.text()}`);
  return response;
}

function accountsOf({ url }: Site, post: Post): (wish: AccountWish) => Promise<Account> {
  return async ({ usd, requestsPerMinute }) => {
    const { account } = await post<{ readonly account: { readonly id: string } }>('/accounts', {
      email: `${crypto.randomUUID()}@example.com`,
      name: 'customer',
      balanceUsd: String(usd),
    });
    const of = `/accounts/${account.id}`;
    const { token } = await post<{ readonly token: string }>(`${of}/token`, {});
    if (requestsPerMinute !== undefined)
      await post(`${of}/limits`, { chatPerMinute: requestsPerMinute }, 'PATCH');
    const headers = { authorization: `Bearer ${token}` };
    return {
      headers,
      async spentUsd() {
        const response = await fetch(`${url}/api/public/v1/account`, { headers });
        const { available_usd: available } = (await response.json()) as { readonly available_usd: number };
        return Number((usd - available).toFixed(9));
      },
      async takeBack(amount) {
        await post(`${of}/adjust`, { amountUsd: `-${amount}`, cause: 'taken back' });
      },
    };
  };
}

function environment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...env };
}

function catalog(backend: string): string {
  const tokens =
    `input: ${PRICES.inputPerMillionUsd}, cached_input: ${PRICES.cachedInputPerMillionUsd}, ` +
    `output: ${PRICES.outputPerMillionUsd}, service_tiers: { priority: ${PRICES.priorityFactor} }`;
  return `
upstreams:
  backend:
    kind: openai
    base_url: "${backend}"
    api_key: \${BACKEND_KEY}
    timeouts: { idle_ms: 5000 }
lists:
  chats:
    - { model: ${CHAT_MODEL}, ${tokens}, tools: true, tokenizer: o200k_base }
    - { model: ${THINKING_MODEL}, ${tokens}, reasoning: hidden, tokenizer: o200k_base }
  images:
    - { model: ${IMAGE_MODEL}, image: ${PRICES.imageUsd}, sizes: [1024x1024] }
endpoints:
  svc_chat: { name: Chat, type: chat_completion, lists: [chats], upstreams: [backend] }
  svc_images: { name: Images, type: image_generation, lists: [images], upstreams: [backend] }
limits: { chat_per_minute: 100000, images_per_minute: 100000, concurrent: 1000 }
`;
}
