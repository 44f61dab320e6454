import { createHmac } from 'node:crypto';
import { rmSync } from 'node:fs';
import { IMAGE_QUOTA_BYTES } from '../../activity/image-store.ts';
import { builtinCatalog } from '../../catalog/builtin.ts';
import { storedText } from '../../catalog/catalog-data.ts';
import { openStoredCatalog, type StoredCatalog } from '../../catalog/stored.ts';
import { CallerAuth } from '../../http/caller-auth.ts';
import { Router } from '../../http/router.ts';
import { startServer, type RunningServer } from '../../http/server.ts';
import { Accounts } from '../../identity/accounts/accounts.ts';
import { Operators } from '../../identity/accounts/operators.ts';
import { Teams } from '../../identity/accounts/teams.ts';
import { makeAuth, type Auth } from '../../identity/sign-in/auth.ts';
import { makePasswords } from '../../identity/sign-in/password.ts';
import { createSetup, type Setup } from '../../identity/sign-in/setup.ts';
import { IdempotencyStore } from '../../ledger/idempotency-store.ts';
import { RedeemCodes } from '../../ledger/codes.ts';
import { openLedger } from '../../ledger/open-ledger.ts';
import type { Attempt, Ledger } from '../../ledger/port.ts';
import { NO_USAGE, type Price, type Usage } from '../../ledger/price.ts';
import { Payments } from '../../payments/payments.ts';
import type { PaymentProvider } from '../../payments/port.ts';
import type { Clock } from '../../std/clock.ts';
import { newRequestId, randomPart, systemRandom, type AccountId, type RequestId } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';
import { RequestSlots } from '../../std/request-slots.ts';
import { openStore, type Store } from '../../store/store.ts';
import { CONSOLE_ERRORS } from '../answers.ts';
import { makeConsole, type Console } from '../app.ts';
import type { BackendHealth, ConsoleParts, OperationHealth } from '../parts.ts';
import { ReceiptLinks } from '../receipt-links.ts';
import { scriptedRelay } from './scripted-relay.ts';
import { testImages } from './test-images.ts';
import { testMessages, type TestMessages, type TestMessagesOptions } from './test-messages.ts';
import { LEDGER_SQL } from '../../ledger/postgres/functions.ts';
import { tablesOf } from '../../../test/support/dump.ts';
import { preparedDataFolder } from '../../../test/support/prepared-folder.ts';
import { notePasswords, noteSession, UsedSecrets } from '../../../test/support/leaks.ts';

/** A console on real HTTP, a real database and real books, with a clock that tests can push forward. */
export interface TestConsole {
  readonly url: string;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly auth: Auth;
  readonly setup: Setup;
  readonly catalog: StoredCatalog;
  readonly messages: TestMessages;
  readonly clock: Clock;
  advance(ms: number): void;
  browser(address?: string): Browser;
  /** The first admin, signed in. */
  admin(): Promise<Browser>;
  /** Somebody new, signed in. */
  user(email: string): Promise<Browser>;
  credit(accountId: string, usd: number): Promise<void>;
  /** One settled chat, as the relay would leave it in the books. */
  charge(accountId: string, more?: ChargeOptions): Promise<RequestId>;
  /** A chat that has its hold and runs until the test ends it. */
  begin(accountId: string): Promise<RequestId>;
  close(): Promise<void>;
}

interface ChargeOptions {
  readonly model?: string;
  readonly endpoint?: string;
  readonly price?: Price;
  readonly usage?: Partial<Usage>;
  readonly failed?: boolean;
  readonly attempts?: readonly Attempt[];
}

export const PASSWORD = 'a perfectly fine phrase';
export const KEY = new Uint8Array(32).fill(7);
export const MAILBOX_KEY = new Uint8Array(32).fill(9);
const SECRET = '0f4c1f0e9d7b5a3c2e1d0f4c1f0e9d7b5a3c2e1d';
export const PRICE: Price = {
  kind: 'tokens',
  input: 1_000_000_000,
  cachedInput: 500_000_000,
  output: 2_000_000_000,
};

interface TestConsoleOptions extends TestMessagesOptions {
  readonly databaseUrl?: string;
  readonly backends?: Partial<BackendHealth>;
  readonly operation?: Partial<OperationHealth>;
  /** Where cards are paid; absent: they are not taken. */
  readonly paymentProvider?: PaymentProvider;
}

export async function testConsole(options: TestConsoleOptions = {}): Promise<TestConsole> {
  const dataDir = await preparedDataFolder('tollgate-console-');
  let ahead = 0;
  const clock: Clock = { now: () => Date.now() + ahead };
  const store = await openStore({
    dataDir,
    databaseUrl: options.databaseUrl,
    log: silentLog,
    clock,
    ledgerSql: LEDGER_SQL,
  });
  const clocks = { clock, clockOffsetMs: () => ahead };
  const books = openLedger(store, { node: 'test', ...clocks, log: silentLog, deadlineMs: 30_000 });
  const catalog = await openTestCatalog(store, clock);
  const messages = testMessages(store, clock, options);
  const parts = partsOf({ store, ledger: books.ledger, catalog, clock, messages }, options);
  const app = makeConsole(parts);
  const server = await serve(app, parts);
  const url = `http://localhost:${server.port}`;
  let addresses = 0;
  const browser = (address = `10.9.${Math.floor(++addresses / 250)}.${addresses % 250}`) =>
    new Browser(url, address);
  return {
    url,
    store,
    ledger: books.ledger,
    auth: parts.auth,
    setup: parts.setup,
    catalog,
    messages,
    clock,
    advance: (ms) => void (ahead += ms),
    browser,
    ...actors(parts, browser),
    begin: (accountId) => begin(books.ledger, clock, accountId as AccountId),
    charge: (accountId, more) => charge(books.ledger, clock, accountId as AccountId, more),
    async close() {
      await server.stop();
      await messages.sender.stop();
      await app.close();
      catalog.close();
      await books.close();
      await store.close();
      const tables = await tablesOf(dataDir, options.databaseUrl);
      rmSync(dataDir, { recursive: true, force: true });
      new UsedSecrets().requireNone({ url, log: '', metrics: '', tables });
    },
  };
}

function openTestCatalog(store: Store, clock: Clock): Promise<StoredCatalog> {
  return openStoredCatalog({
    db: store.db,
    durable: () => store.durable(),
    sealingKey: new Uint8Array(32).fill(1),
    builtin: builtinCatalog,
    env: {},
    log: silentLog,
    clock,
  });
}

type PartsOfTest = Pick<TestConsole, 'store' | 'ledger' | 'catalog' | 'clock' | 'messages'>;

function partsOf(
  { store, ledger, catalog, clock, messages }: PartsOfTest,
  { publicUrl, backends, operation, paymentProvider: provider }: TestConsoleOptions,
): ConsoleParts {
  const passwords = makePasswords({ parallel: 2, queue: 500, cost: { memoryKib: 64, passes: 1 } });
  const { notices } = messages;
  const auth = makeAuth({
    store,
    secret: SECRET,
    mailboxKey: MAILBOX_KEY,
    clock,
    log: silentLog,
    passwords,
    notices,
    publicUrl,
  });
  return {
    store,
    ledger,
    auth,
    setup: createSetup({ store, users: auth.users, clock }),
    accounts: new Accounts({ store, ledger, pepper: KEY, clock, notices }),
    teams: new Teams({ store, ledger, pepper: KEY, clock }),
    operators: new Operators({ store, pepper: KEY, clock }),
    keyedAnswers: new IdempotencyStore(store, clock),
    codes: new RedeemCodes({ store, ledger, key: KEY, clock }),
    payments:
      provider && new Payments({ store, ledger, provider, clock, random: systemRandom, log: silentLog }),
    catalog,
    restartNeeded: () => [],
    catalogEditor: catalog,
    importTarget: () => {
      const { version, json } = catalog.newest();
      return Promise.resolve({
        text: json,
        revision: version,
        parse: (text, entered) => catalog.parse(text, entered),
        write: (_, changed) => storedText(changed),
      });
    },
    hasVariable: () => false,
    tryBackend: () => Promise.reject(new Error('not needed here')),
    backends: { ...restingNever(catalog), ...backends },
    operation: {
      certificateEndsAt: () => undefined,
      settlementsWaiting: () => 0,
      runningAt: () => 0,
      ...operation,
    },
    playground: scriptedRelay(ledger, clock, PRICE),
    receiptLinks: new ReceiptLinks({ key: KEY, clock }),
    messages,
    images: testImages(store, clock),
    imageQuotaBytes: IMAGE_QUOTA_BYTES,
    publicUrl,
    clock,
    log: silentLog,
    version: 'test',
  };
}

function actors(parts: ConsoleParts, browser: () => Browser): Pick<TestConsole, 'admin' | 'user' | 'credit'> {
  return {
    async user(email) {
      const visitor = browser();
      await visitor.must('POST', '/api/auth/sign-up/email', { email, password: PASSWORD });
      return visitor;
    },
    async admin() {
      const issued = await parts.setup.issue();
      const visitor = browser();
      const person = { email: 'admin@example.com', password: PASSWORD };
      await visitor.must('POST', '/api/console/setup', { token: issued?.token, ...person });
      return visitor;
    },
    async credit(accountId, usd) {
      const entry = { kind: 'credit', amount: usd * 1_000_000_000, cause: 'test', actor: 'test' } as const;
      await parts.ledger.post({ accountId: accountId as AccountId, ...entry });
    },
  };
}

/** Behind a trusted proxy, which says where a request comes from. */
async function serve({ routes }: Console, { ledger, catalog, clock }: ConsoleParts): Promise<RunningServer> {
  const callerAuth = new CallerAuth(
    { ledger, catalog: catalog.current },
    { hashToken: () => undefined, trustedProxies: ['127.0.0.1', '::1'], onExposed: () => undefined },
  );
  return await startServer({
    host: '127.0.0.1',
    port: 0,
    shared: false,
    tls: undefined,
    router: new Router(routes, [['/api', CONSOLE_ERRORS]]),
    callerAuth,
    requestSlots: new RequestSlots({ max: 100, eventLoop: { isOverloaded: false }, onShed: () => undefined }),
    activeRequests: new Set(),
    clock,
    random: systemRandom,
    log: silentLog,
    eventLoop: { began: () => undefined },
    accessLog: { isOn: false, answered: () => undefined },
    metrics: { answered: () => undefined },
  });
}

export interface TestReply<Body = Record<string, unknown>> {
  readonly status: number;
  readonly body: Body;
  readonly headers: Headers;
}

/** Keeps cookies and says where it comes from, like a browser on one of our pages. */
export class Browser {
  readonly #url: string;
  readonly address: string;
  readonly cookies = new Map<string, string>();

  constructor(url: string, address: string) {
    this.#url = url;
    this.address = address;
  }

  async raw(
    method: string,
    path: string,
    init: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'sec-fetch-site': 'same-origin',
        'x-forwarded-for': this.address,
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
        // As the pages do: each form has a key of its own.
        ...(method === 'GET' ? {} : { 'idempotency-key': randomPart(12) }),
        ...init.headers,
      },
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    });
    notePasswords(this.#url, init.body);
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    return response;
  }

  async call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<TestReply<Body>> {
    const sent = body === undefined && method !== 'GET' && method !== 'DELETE' ? {} : body;
    const response = await this.raw(method, path, { body: sent, headers });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: response.status,
      headers: response.headers,
      body: (isJson ? JSON.parse(text) : { text }) as Body,
    };
  }

  /** Fails the test when the answer is not 200. */
  async must<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Body> {
    const reply = await this.call<Body>(method, path, body, headers);
    if (reply.status !== 200)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  }

  async accountId(): Promise<string> {
    const { user } = await this.must<{ user: { accountId: string } }>('GET', '/api/console/session');
    return user.accountId;
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';');
    const equals = pair.indexOf('=');
    if (/max-age=0/i.test(line)) this.cookies.delete(pair.slice(0, equals));
    else this.cookies.set(pair.slice(0, equals), pair.slice(equals + 1));
    noteSession(this.#url, line);
  }
}

async function charge(
  ledger: Ledger,
  clock: Clock,
  accountId: AccountId,
  more: ChargeOptions = {},
): Promise<RequestId> {
  const requestId = await begin(ledger, clock, accountId, more);
  const attempts = more.attempts ?? [
    { upstream: 'house', result: more.failed ? ('failed' as const) : ('served' as const), durationMs: 5 },
  ];
  const ending = { attempts, upstream: attempts.at(-1)?.upstream, durationMs: 12, firstByteMs: 7 };
  if (more.failed)
    await ledger.void(requestId, { ...ending, outcome: 'upstream_failed', errorCode: 'upstream_error' });
  else {
    const usage = { ...NO_USAGE, input: 100, cached: 40, output: 50, ...more.usage };
    await ledger.settle(requestId, {
      ...ending,
      usage,
      source: 'upstream',
      outcome: 'completed',
      finishReason: 'stop',
    });
  }
  return requestId;
}

async function begin(
  ledger: Ledger,
  clock: Clock,
  accountId: AccountId,
  more: Pick<ChargeOptions, 'endpoint' | 'model' | 'price'> = {},
): Promise<RequestId> {
  const requestId = newRequestId(clock.now());
  const admission = await ledger.admit({
    requestId,
    caller: { kind: 'account', id: accountId },
    rate: 'chat',
    endpoint: more.endpoint ?? 'svc_chat',
    model: more.model ?? 'house-echo',
    price: more.price ?? PRICE,
    priceGroup: more.price?.group,
    ceiling: { kind: 'tokens', input: 1_000, output: 1_000, choices: 1 },
    stream: false,
    client: '=cmd|test',
    limits: { chatPerMinute: 100_000, imagesPerMinute: 100_000, concurrent: 1_000 },
  });
  if (admission.kind !== 'admitted') throw new Error(admission.reason);
  return requestId;
}

/** What a backend says of itself that has had no requests yet. */
export const HEALTHY = {
  state: 'ok',
  requests: 0,
  failures: 0,
  lastFailure: undefined,
  hasFailedTest: false,
  firstByteMs: undefined,
  resting: [],
  learned: [],
} as const;

function restingNever(catalog: StoredCatalog): BackendHealth {
  return {
    list: () =>
      [...catalog.current().upstreams.values()].map(({ name, kind }) =>
        Object.assign({ name, kind }, HEALTHY),
      ),
    test: () => Promise.resolve({ ok: true, detail: 'answered', latencyMs: 1 }),
  };
}

/** RFC 6238 with the usual six digits and thirty seconds. */
export function totp(uri: string): string {
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  const bits = Array.from(secret)
    .map((sign) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(sign).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
