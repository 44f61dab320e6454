import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seed } from '../../scripts/seed.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { runCli } from './cli.ts';
import type { CliContext, CliServices } from './command.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-cli-archive-'));
let store: Store;
let opened: OpenLedger;

beforeAll(async () => {
  store = await openStore({ dataDir, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
  await seed(store, { requests: 900, accounts: 2, days: 3, now: Date.now() - 100 * 86_400_000 });
  opened = openLedger(store, { node: 'test', clock: systemClock, log: silentLog });
});

afterAll(async () => {
  await opened.close();
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Runs a command on the store; the retention is what a catalog would say. */
async function run(argv: string[], receiptsDays?: number) {
  const lines: string[] = [];
  const services = { store, ledger: opened.ledger, receiptsDays: () => Promise.resolve(receiptsDays) };
  const context = {
    clock: systemClock,
    print: (line: string) => void lines.push(line),
    // Of the services the command uses only these.
    withServices: <T>(work: (all: CliServices) => Promise<T>) => work(services as CliServices),
  } as CliContext;
  const code = await runCli(argv, context, (line) => void lines.push(line));
  return { code, lines };
}

const receipts = () => store.db.selectFrom('receipt').select('id').execute();

test('without a retention nothing leaves, and the command says where one is named', async () => {
  const { code, lines } = await run(['archive']);
  expect(code).toBe(2);
  expect(lines[0]).toContain('kept for ever');
  expect((await run(['archive', '--days', '34'])).lines[0]).toContain('a whole number from 35');
  expect(await receipts()).toHaveLength(900);
});

test('a dry run lists what would leave and changes nothing; the command then does it once', async () => {
  const dry = await run(['archive', '--dry-run'], 60);
  expect(dry.code).toBe(0);
  const days = dry.lines.length - 1;
  expect(days).toBeGreaterThan(3);
  expect(dry.lines.at(-1)).toBe(`900 receipts of ${days} account-days would leave.`);
  expect(await receipts()).toHaveLength(900);
  const done = await run(['archive', '--json'], 60);
  expect(JSON.parse(done.lines[0] ?? '')).toEqual({ days, requests: 900, refused: [] });
  expect(await receipts()).toEqual([]);
  expect((await run(['archive'], 60)).lines).toEqual([
    '0 receipts of 0 account-days left, each day as one charge.',
  ]);
  expect((await opened.ledger.verify({ full: true })).breaches).toEqual([]);
});

test('a day whose sums are wrong stays, is named, and the command fails', async () => {
  const [one] = await store.db.selectFrom('usage_day').selectAll().where('account_id', '<>', '').execute();
  if (!one) throw new Error('there are no sums');
  await store.db
    .insertInto('usage_day')
    .values({ ...one, day: 20_200_101 })
    .execute();
  const { code, lines } = await run(['archive'], 60);
  expect(code).toBe(1);
  expect(lines[0]).toContain(`20200101  ${one.account_id}  stays: its receipts are not what the sums`);
});
