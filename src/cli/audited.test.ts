import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../main/config.ts';
import { closeServices, openServices, type Services } from '../main/services.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { COMMANDS, runCli } from './cli.ts';
import { NO_PASSWORD } from './testing/password-input.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-audit-'));
const bill = join(folder, 'costs.json');
let services: Services;
let accountId: string;

beforeAll(async () => {
  const amount = { value: 1, currency: 'usd' };
  writeFileSync(bill, JSON.stringify({ data: [{ start_time: 1_700_000_000, results: [{ amount }] }] }));
  services = await openServices(readConfig({ TOLLGATE_DATA: folder }), silentLog, systemClock);
  await run('account', 'create', 'a@example.com');
  accountId = (await services.accounts.require('a@example.com')).id;
});
afterAll(async () => {
  await closeServices(services);
  rmSync(folder, { recursive: true });
});

async function run(...words: string[]): Promise<number> {
  const { store, ledger, accounts, teams, operators, secret } = services;
  const context = {
    env: {},
    builtIn: {},
    fileSettings: {},
    checkTls: () => ({ ok: true, line: '' }),
    clock: systemClock,
    print: () => undefined,
    warn: () => undefined,
    passwordInput: NO_PASSWORD,
    dataDirAsOwner: () => folder,
    machineUser: 'deploy',
    setupChecks: () => Promise.resolve([]),
    address: { host: '127.0.0.1', port: 0 },
    configuration: () => Promise.resolve({ settings: [], unknown: [] }),
    withCatalog: () => Promise.reject(new Error('not needed')),
    liveCheck: () => Promise.reject(new Error('not needed')),
    withStore: <T>(work: (given: never) => Promise<T>): Promise<T> => work(store as never),
    withMovedFolder: () => Promise.reject(new Error('not needed here')),
    withMoveTarget: () => Promise.reject(new Error('not needed here')),
    withServices: <T>(work: (given: never) => Promise<T>): Promise<T> =>
      work({
        store,
        accounts,
        teams,
        operators,
        ledger: ledger.ledger,
        secret,
        catalog: () => Promise.resolve({ upstreams: new Map([['acme', {}]]), endpoints: new Map() }),
        receiptsDays: () => Promise.resolve(undefined),
      } as never),
  };
  return await runCli(words, context, () => undefined);
}

async function entriesAfter(work: () => Promise<number>) {
  const before = await services.store.db
    .selectFrom('audit')
    .select('id')
    .orderBy('id', 'desc')
    .executeTakeFirst();
  const code = await work();
  const entries = await services.store.db
    .selectFrom('audit')
    .select(['actor', 'action', 'target', 'detail'])
    .where('id', '>', before?.id ?? 0)
    .orderBy('id')
    .execute();
  return { code, entries };
}

const CHANGES: [string, string[], string, boolean][] = [
  [
    'account create',
    ['b@example.com', '--balance', '3', '--password', 'correct horse 9 battery'],
    'account.create',
    false,
  ],
  ['account credit', ['a@example.com', '5', '--reason', 'invoice 7'], 'account.credit', true],
  ['account credit', ['a@example.com', '5', '--refund'], 'account.refund', true],
  ['account debit', ['a@example.com', '2', '--reason', 'paid out'], 'account.adjust', true],
  ['account token', ['a@example.com'], 'account.replace-token', true],
  ['account limit', ['a@example.com', '--chat', '7'], 'account.limits', true],
  ['account group', ['a@example.com', 'none'], 'account.price-group', true],
  ['account password', ['a@example.com', 'correct horse 9 battery'], 'account.reset-password', true],
  ['account reset-link', ['a@example.com'], 'account.reset-link', true],
  ['account disable', ['a@example.com'], 'account.disable', true],
  ['account enable', ['a@example.com'], 'account.enable', true],
  ['account role', ['a@example.com', 'support'], 'operator.role', true],
  ['account role', ['a@example.com', 'none'], 'operator.role', true],
  ['account allow-cards', ['a@example.com'], 'account.allow-cards', true],
  ['team create', ['crew', '--owner', 'a@example.com', '--balance', '3'], 'team.create', true],
  ['team add', ['crew', 'b@example.com', '--role', 'owner'], 'team.add', false],
  ['team role', ['crew', 'a@example.com', 'member'], 'team.role', true],
  ['team app', ['crew', 'nightly', '--budget', '1/day'], 'team.app', false],
  ['team limit', ['crew', '--concurrent', '7'], 'team.limits', false],
  ['team group', ['crew', 'none'], 'team.price-group', false],
  ['team credit', ['crew', '5', '--reason', 'invoice 7'], 'team.credit', false],
  ['team remove', ['crew', 'a@example.com'], 'team.remove', true],
  ['team close', ['crew'], 'team.close', false],
  ['codes make', ['5', '2', '--batch', 'spring'], 'codes.make', false],
  ['archive', ['--days', '400'], 'ledger.archive', false],
  ['reconcile', [bill, '--backend', 'acme', '--book'], 'ledger.book-bill', false],
];
const READS = [
  'account show',
  'account list',
  'team list',
  'team show',
  'verify',
  'receipt',
  'catalog check',
  'catalog example',
  'catalog schema',
  'config',
  'doctor',
  'health',
  'margin',
  'metrics token',
];
/**
 * The record of a removal names nobody, those of a new secret and of a move are part of their transactions; a backup changes nothing, and a
 * restored database has its own log. Each has its test elsewhere.
 */
const WRITES_ITS_OWN = [
  'account remove',
  'backup',
  'catalog import',
  'catalog plans',
  'catalog publish',
  'move',
  'restore',
  'secret rotate',
  'secret reset',
];

test('every command is known to change something, and then leaves a record, or to change nothing', () => {
  const known = [...CHANGES.map(([name]) => name), ...READS, ...WRITES_ITS_OWN].sort();
  expect([...new Set(known)]).toEqual(COMMANDS.map(({ name }) => name).sort());
});

test.each(CHANGES)(
  '%s %j is recorded as %s, without a password',
  async (name, words, action, isAboutAccount) => {
    const { code, entries } = await entriesAfter(() => run(...name.split(' '), ...words));
    expect(code).toBe(0);
    expect(entries[0]).toMatchObject({ actor: 'cli', action });
    for (const { detail } of entries) expect(JSON.parse(detail)).toMatchObject({ machine_user: 'deploy' });
    if (name !== 'team add') expect(entries[0]?.target).toBe(isAboutAccount ? accountId : '');
    const others = entries.slice(1).map((entry) => entry.action);
    expect(others.filter((other) => other !== `${action}.changed`)).toEqual(
      action === 'account.create' ? ['account.created'] : [],
    );
    expect(JSON.stringify(entries)).not.toContain('correct horse');
    expect(JSON.stringify(entries)).not.toContain('@example.com');
  },
);

test('what was asked for is in the record, and so is a refusal', async () => {
  const { entries } = await entriesAfter(() =>
    run('account', 'limit', 'a@example.com', '--images', '9', '--json'),
  );
  expect(JSON.parse(entries[0]!.detail)).toEqual({ images: '9', machine_user: 'deploy' });
  const refused = await entriesAfter(() => run('account', 'create', 'a@example.com'));
  expect(refused.code).toBe(4);
  expect(refused.entries.map((entry) => entry.action)).toEqual(['account.create', 'account.create.refused']);
});

test('the user that the system knows and the name that somebody gives with --as are kept apart', async () => {
  const { entries } = await entriesAfter(() =>
    run('account', 'disable', 'a@example.com', '--as', 'Ann Smith'),
  );
  expect(entries).toMatchObject([
    { actor: 'cli', action: 'account.disable' },
    { actor: 'cli', action: 'account.disable.changed' },
  ]);
  const by = { machine_user: 'deploy', claimed_name: 'Ann Smith' };
  expect(JSON.parse(entries[0]!.detail)).toEqual(by);
  expect(JSON.parse(entries[1]!.detail)).toEqual({ ...by, status: 'active → disabled' });
  expect(await run('account', 'enable', 'a@example.com')).toBe(0);
});

test('a command that only reads, and one about nobody, leave no record', async () => {
  expect((await entriesAfter(() => run('account', 'show', 'a@example.com'))).entries).toEqual([]);
  expect((await entriesAfter(() => run('archive', '--dry-run', '--days', '400'))).entries).toEqual([]);
  expect((await entriesAfter(() => run('reconcile', bill, '--backend', 'acme'))).entries).toEqual([]);
  expect((await entriesAfter(() => run('account', 'disable', 'nobody@example.com'))).entries).toEqual([]);
});
