import { afterAll, beforeEach, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openResponseRows, ResponseStore } from '../activity/response-store.ts';
import { ProviderKeys } from '../catalog/provider-keys.ts';
import { seal, unseal } from '../catalog/seal.ts';
import { tokenHasher } from '../identity/accounts/token.ts';
import { giveWelcomeCredit, writeWelcomeCredit } from '../identity/sign-in/welcome-credit.ts';
import { readConfig } from '../main/config.ts';
import { closeServices, openConfiguredStore, openServices, type Services } from '../main/services.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { parseUsd } from '../std/money.ts';
import { sealBytes } from '../std/sealed-bytes.ts';
import { runCli } from './cli.ts';
import type { CliContext } from './command.ts';
import { NO_PASSWORD } from './testing/password-input.ts';

/** The secret of an installation can be replaced, and even its loss leaves the books. */

const folders: string[] = [];
let folder: string;
let token: string;

afterAll(() => {
  for (const one of folders) rmSync(one, { recursive: true, force: true });
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-secret-command-'));
  folders.push(folder);
  await withServices({}, async ({ accounts, store, secret, outbox }) => {
    const balance = parseUsd('7');
    if (balance === undefined) throw new Error('no amount');
    ({ token } = await accounts.create('a@example.com', { balance, actor: 'test' }));
    const keys = new ProviderKeys(store.db, secret.key('provider keys'), systemClock);
    await keys.set('TEAM_API_KEY', 'key-of-the-team', 'https://llm.example.com');
    await outbox.add(store.db, {
      kind: 'mail',
      topic: 'mail.test',
      accountId: '',
      to: 'a@example.com',
      payload: 'hello',
    });
    const sealed = seal(
      secret.key('webhooks'),
      { name: 'whk_1', origin: 'https://hooks.example' },
      'whsec_abc',
    );
    const lines = ['{"input":[],"output":[]}', '{"object":"response"}'].join('\n');
    await store.db
      .insertInto('stored_response')
      .values({
        id: 'resp_1',
        account_id: 'acc_1',
        state: 'completed',
        items: sealBytes(secret.key('responses'), 'response acc_1 resp_1', lines),
        head: new Uint8Array(),
        bytes: 1,
        item_bytes: 1,
        created_at: systemClock.now(),
      })
      .execute();
    const hook = {
      id: 'whk_1',
      account_id: '',
      url: 'https://hooks.example/a',
      events: '[]',
      hint: '',
      created_at: 1,
    };
    await store.db
      .insertInto('webhook')
      .values({ ...hook, sealed, old_sealed: sealed })
      .execute();
  });
});

type Env = Readonly<Record<string, string>>;

async function withServices<T>(env: Env, work: (services: Services) => Promise<T>): Promise<T> {
  const services = await openServices(readConfig({ TOLLGATE_DATA: folder, ...env }), silentLog, systemClock);
  try {
    return await work(services);
  } finally {
    await closeServices(services);
  }
}

async function run(env: Env, ...words: string[]): Promise<{ code: number; printed: string }> {
  const printed: string[] = [];
  const context: CliContext = {
    env,
    builtIn: {},
    fileSettings: {},
    dataDirAsOwner: () => folder,
    machineUser: 'deploy',
    setupChecks: () => Promise.resolve([]),
    address: { host: '127.0.0.1', port: 0 },
    checkTls: () => ({ ok: true, line: '' }),
    clock: systemClock,
    print: (line) => printed.push(line),
    warn: (line) => printed.push(line),
    passwordInput: NO_PASSWORD,
    configuration: () => Promise.reject(new Error('not needed')),
    withCatalog: () => Promise.reject(new Error('not needed here')),
    liveCheck: () => Promise.reject(new Error('not needed here')),
    withStore: async (work) => {
      const config = readConfig({ TOLLGATE_DATA: folder, ...env });
      const store = await openConfiguredStore(config, silentLog, systemClock);
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
    withMovedFolder: () => Promise.reject(new Error('not needed here')),
    withMoveTarget: () => Promise.reject(new Error('not needed here')),
    withServices: (work) =>
      withServices(env, (services) =>
        work({
          ...services,
          ledger: services.ledger.ledger,
          catalog: () => Promise.reject(new Error('not needed')),
          receiptsDays: () => Promise.resolve(undefined),
          longestRequestMs: () => Promise.resolve(undefined),
        }),
      ),
  };
  const code = await runCli(words, context, (line) => printed.push(line));
  return { code, printed: printed.join('\n') };
}

/** What is left of the account, its token and the stored key. */
async function left(env: Env = {}) {
  return await withServices(env, async ({ store, secret, ledger, outbox }) => {
    const row = await store.db
      .selectFrom('account')
      .selectAll()
      .where('email', '=', 'a@example.com')
      .executeTakeFirstOrThrow();
    const { values } = await new ProviderKeys(store.db, secret.key('provider keys'), systemClock).open();
    const { breaches } = await ledger.ledger.verify();
    const audited = await store.db
      .selectFrom('audit')
      .select('action')
      .orderBy('id', 'desc')
      .executeTakeFirst();
    const message = await store.db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow();
    const hook = await store.db.selectFrom('webhook').selectAll().executeTakeFirstOrThrow();
    const opened = [hook.sealed, hook.old_sealed ?? ''].map((one) =>
      unseal(secret.key('webhooks'), hook.id, one),
    );
    const rows = openResponseRows(store, ledger, 1_000);
    const responses = new ResponseStore({
      store,
      rows,
      clock: systemClock,
      key: secret.key('responses'),
      rules: () => ({ keepMs: 3_600_000, keepBytes: 1e9 }),
    });
    return {
      response: await responses.answer('resp_1', 'acc_1'),
      waiting: outbox.read(message),
      webhookSecrets: opened,
      audited: audited?.action,
      balance: row.balance,
      tokenIsValid: row.token_hash === tokenHasher(secret.key('token pepper'))(token),
      keys: values,
      breaches,
    };
  });
}

const ALL = {
  audited: 'secret.rotate',
  balance: 7_000_000_000,
  tokenIsValid: true,
  keys: { TEAM_API_KEY: 'key-of-the-team' },
  waiting: 'hello',
  response: { output: [], object: 'response', status: 'completed' },
  webhookSecrets: ['whsec_abc', 'whsec_abc'],
  breaches: [],
};
const BOOKS = {
  audited: 'secret.reset',
  balance: 7_000_000_000,
  tokenIsValid: false,
  keys: {},
  waiting: undefined,
  response: undefined,
  webhookSecrets: [undefined, undefined],
  breaches: [],
};
const secretFile = (): string => join(folder, 'secret');

test('rotate: another secret, in the same file; tokens, provider keys and books stay', async () => {
  const before = readFileSync(secretFile(), 'utf8');
  expect((await run({}, 'secret', 'rotate')).code).toBe(0);
  expect(await left()).toEqual(ALL);
  expect(readFileSync(secretFile(), 'utf8')).not.toBe(before);
  expect(statSync(secretFile()).mode & 0o777).toBe(0o600);
  expect((await run({}, 'secret', 'rotate')).code).toBe(0);
  expect(await left()).toEqual(ALL);
});

test('rotate to a given secret: the old one opens nothing any more', async () => {
  const env = { TOLLGATE_NEW_SECRET: 'a new secret of the operator' };
  expect((await run(env, 'secret', 'rotate')).code).toBe(0);
  expect(await left({ TOLLGATE_SECRET: env.TOLLGATE_NEW_SECRET })).toEqual(ALL);
  await expect(left()).rejects.toThrow('TOLLGATE_SECRET is not the one this store was made with');
});

test('rotate: a mailbox that had its welcome credit never gets another, and a new one still gets its own', async () => {
  const given = async (email: string, purpose: 'sessions' | 'mailboxes'): Promise<number> =>
    await withServices({}, async ({ store, secret }) => {
      const now = Date.now();
      const id = `acc_${email}`;
      await writeWelcomeCredit(store, { amountUsd: '1', perDay: 10 }, now);
      await store.db.insertInto('account').values({ id, email, created_at: now }).execute();
      const mailboxKey = secret.key(purpose);
      await store.db.transaction().execute((tx) => giveWelcomeCredit(tx, id, { mailboxKey, now }));
      const account = store.db.selectFrom('account').select('balance').where('id', '=', id);
      return (await account.executeTakeFirstOrThrow()).balance;
    });
  // As versions did that had no key for mailboxes.
  expect(await given('some.body@gmail.com', 'sessions')).toBe(1_000_000_000);
  for (let times = 1; times <= 2; times++) {
    expect((await run({}, 'secret', 'rotate')).code).toBe(0);
    expect(await given(`somebody+${times}@gmail.com`, 'mailboxes')).toBe(0);
    expect(await given(`${times}@example.com`, 'mailboxes')).toBe(1_000_000_000);
    expect(await given(`${times}+again@example.com`, 'mailboxes')).toBe(0);
  }
});

test('a lost secret is never made anew for a store that has one; reset gives it another, and the books live', async () => {
  rmSync(secretFile());
  await expect(left()).rejects.toThrow('The secret of this store is lost');
  expect(existsSync(secretFile())).toBe(false);
  const refused = await run({}, 'secret', 'reset');
  expect([refused.code, refused.printed.split('\n')[0]]).toEqual([
    2,
    'Nothing was changed. Every token and stored provider key ends; add --yes to do it.',
  ]);
  expect((await run({}, 'secret', 'reset', '--yes')).code).toBe(0);
  expect(await left()).toEqual(BOOKS);
  expect(await left()).toEqual(BOOKS);
});

test('reset takes the secret that the operator has set now', async () => {
  const env = { TOLLGATE_SECRET: 'the only secret that is left' };
  await expect(left(env)).rejects.toThrow('TOLLGATE_SECRET is not the one this store was made with');
  expect((await run(env, 'secret', 'reset', '--yes')).code).toBe(0);
  expect(await left(env)).toEqual(BOOKS);
});
