import { afterEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { preparedDataFolder } from '../../../test/support/prepared-folder.ts';
import { openLedger, type OpenLedger } from '../../ledger/open-ledger.ts';
import type { AccountId } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';
import { nanoUsd } from '../../std/money.ts';
import { openStore, type Store } from '../../store/store.ts';
import { Accounts } from './accounts.ts';
import { hashToken } from './token.ts';
import { LEDGER_SQL } from '../../ledger/postgres/functions.ts';

const pepper = new Uint8Array(32).fill(5);
const clock = { now: () => 1_900_000_000_000 };
const opened: { store: Store; ledger: OpenLedger; dataDir: string }[] = [];

async function open() {
  const dataDir = await preparedDataFolder('tollgate-accounts-');
  const store = await openStore({ dataDir, log: silentLog, clock, ledgerSql: LEDGER_SQL });
  const ledger = openLedger(store, { node: 'test', clock, log: silentLog });
  opened.push({ store, ledger, dataDir });
  return {
    store,
    ledger: ledger.ledger,
    accounts: new Accounts({ store, ledger: ledger.ledger, pepper, clock }),
  };
}

afterEach(async () => {
  for (const { store, ledger, dataDir } of opened.splice(0)) {
    await ledger.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

function hashOf(token: string) {
  return { kind: 'token', hash: hashToken(token, pepper)! } as const;
}

test('a new account has its balance as an entry, and a token that is stored only as a hash', async () => {
  const { accounts, ledger, store } = await open();
  const { account, token } = await accounts.create('ann@example.com', {
    balance: nanoUsd(500),
    actor: 'cli',
  });
  expect(account).toMatchObject({ email: 'ann@example.com', role: 'user', status: 'active', balance: 500 });
  expect(await ledger.identify(hashOf(token))).toMatchObject({
    email: 'ann@example.com',
    balance: nanoUsd(500),
  });
  const dump = JSON.stringify([
    await store.db.selectFrom('account').selectAll().execute(),
    await store.db.selectFrom('entry').selectAll().execute(),
  ]);
  expect(dump).not.toContain(token.slice(3));
  expect((await ledger.verify()).breaches).toEqual([]);
});

test('one mailbox is one account, however it is spelled and however many try at once', async () => {
  const { accounts } = await open();
  const spellings = [
    'Ann@Example.com',
    'ann@example.com',
    ' ANN@EXAMPLE.COM ',
    'ann＠example.com',
    'ａnn@example.com',
  ];
  const results = await Promise.allSettled(
    spellings.map((email) => accounts.create(email, { actor: 'cli' })),
  );
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
  expect(await accounts.find('ANN＠example.com')).toMatchObject({ email: 'ann@example.com' });
  for (const nonsense of ['', 'ann', 'a@b@c', `${'x'.repeat(300)}@example.com`]) {
    expect(accounts.create(nonsense, { actor: 'cli' })).rejects.toThrow();
  }
});

test('a replaced token is invalid from the moment the new one is known, even when two requests replace it at once', async () => {
  const { accounts, ledger } = await open();
  const { account, token } = await accounts.create('ann@example.com', { actor: 'cli' });
  const id = account.id as AccountId;
  const tokens = await Promise.all([accounts.replaceToken(id), accounts.replaceToken(id)]);
  expect(await ledger.identify(hashOf(token))).toBeUndefined();
  const valid = await Promise.all(tokens.map((shown) => ledger.identify(hashOf(shown))));
  expect(valid.filter((standing) => standing)).toHaveLength(1);
  expect(await accounts.get(id)).toMatchObject({ token_exposed_at: null, token_used_at: null });
});

test('changed limits and status apply immediately, and null restores the default', async () => {
  const { accounts, ledger } = await open();
  const { account, token } = await accounts.create('ann@example.com', { actor: 'cli' });
  const id = account.id as AccountId;
  await accounts.setLimits(id, { chatPerMinute: 5, concurrent: 2, monthlyLimit: nanoUsd(9) });
  await accounts.setLimits(id, { concurrent: null });
  expect(await ledger.identify(hashOf(token))).toMatchObject({
    limits: { chatPerMinute: 5, imagesPerMinute: undefined, concurrent: undefined },
    monthlyLimit: nanoUsd(9),
  });
  await accounts.setStatus(id, 'disabled');
  expect(await ledger.identify(hashOf(token))).toBeUndefined();
  await accounts.setStatus(id, 'active');
  expect(await ledger.identify(hashOf(token))).toBeDefined();
});

test('a token sent over plain HTTP is marked as exposed once, and a new token is not marked', async () => {
  const { accounts } = await open();
  const { account, token } = await accounts.create('ann@example.com', { actor: 'cli' });
  await accounts.markExposed(hashOf(token).hash);
  expect((await accounts.get(account.id as AccountId)).token_exposed_at).toBe(clock.now());
  await accounts.replaceToken(account.id as AccountId);
  expect((await accounts.get(account.id as AccountId)).token_exposed_at).toBeNull();
});

test('the list pages by id and leaves out system accounts', async () => {
  const { accounts, store } = await open();
  const rows = Array.from({ length: 250 }, (_, n) => {
    const number = String(n).padStart(3, '0');
    return { id: `acc_${number}`, email: `${number}@example.com`, created_at: n };
  });
  await store.db.insertInto('account').values(rows).execute();
  const seen: string[] = [];
  for (let page = await accounts.list(); page.length > 0; page = await accounts.list(page.at(-1)?.id)) {
    seen.push(...page.map((account) => account.id));
  }
  expect(seen).toEqual(rows.map((row) => row.id));
});
