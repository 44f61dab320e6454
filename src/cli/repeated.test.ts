import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../test/support/node-process.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { readConfig } from '../main/config.ts';
import { closeServices, openServices, type Services } from '../main/services.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { connectedNodes } from '../store/other-nodes.ts';
import { runCli } from './cli.ts';
import type { CliContext } from './command.ts';

/** Money that an operator's script moves, whatever happens to the script. */

describe.each(['SQLite', 'Postgres'])('on %s', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-repeated-'));
  let services: Services;
  beforeAll(async () => {
    const url = database === 'Postgres' ? await (await testPostgres()).freshDatabase() : '';
    const env = { TOLLGATE_DATA: folder, DATABASE_URL: url, TOLLGATE_SECRET: 'a secret of this test' };
    services = await openServices(readConfig(env), silentLog, systemClock);
    for (const email of ['a@example.com', 'b@example.com'])
      await services.accounts.create(email, { actor: 'test' });
  }, 60_000);
  afterAll(async () => {
    const { breaches } = await services.ledger.ledger.verify({ full: true });
    await closeServices(services);
    rmSync(folder, { recursive: true });
    expect(breaches).toEqual([]);
  });

  async function run(...words: string[]): Promise<{ code: number; printed: string }> {
    const printed: string[] = [];
    const { store, accounts, teams, ledger, secret } = services;
    const context = {
      clock: systemClock,
      machineUser: 'deploy',
      print: (line: string) => printed.push(line),
      withServices: (work: (given: unknown) => Promise<unknown>) =>
        work({ store, accounts, teams, secret, ledger: ledger.ledger }),
    } as unknown as CliContext;
    const code = await runCli(words, context, (line) => printed.push(line));
    return { code, printed: printed.join('\n') };
  }

  async function balanceOf(email: string): Promise<number> {
    return JSON.parse((await run('account', 'show', email, '--json')).printed).balance_usd;
  }

  test('a credit with the same key counts once for an account, however often and from wherever it is run', async () => {
    const credit = ['account', 'credit', 'a@example.com', '5', '--key', 'invoice 7'];
    const ran = await Promise.all([run(...credit), run(...credit), run(...credit)]);
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(JSON.parse((await run(...credit, '--json')).printed)).toMatchObject({
      balance_usd: 5,
      repeated: true,
    });
    expect(await balanceOf('a@example.com')).toBe(5);
    expect((await run('account', 'credit', 'b@example.com', '5', '--key', 'invoice 7')).code).toBe(0);
    expect(await balanceOf('b@example.com')).toBe(5);
  });

  test('the same key for another amount is refused', async () => {
    const { code, printed } = await run('account', 'credit', 'a@example.com', '6', '--key', 'invoice 7');
    expect(code).toBe(4);
    expect(printed).toContain(
      "The key 'invoice 7' was used for a@example.com before, for a credit of $5.00.",
    );
    expect(await balanceOf('a@example.com')).toBe(5);
  });

  test("a team's credit counts once for a key, too, and one of another amount is refused", async () => {
    expect((await run('team', 'create', 'crew', '--owner', 'b@example.com')).code).toBe(0);
    const credit = ['team', 'credit', 'crew', '5', '--key', 'invoice 7', '--json'];
    const printed = [(await run(...credit)).printed, (await run(...credit)).printed];
    expect(printed.map((one) => JSON.parse(one))).toEqual([
      { team: 'crew', balance_usd: 5, repeated: false },
      { team: 'crew', balance_usd: 5, repeated: true },
    ]);
    const other = await run('team', 'credit', 'crew', '6', '--key', 'invoice 7');
    expect(other.code).toBe(4);
    expect(other.printed).toContain("The key 'invoice 7' was used for crew before, for a credit of $5.00.");
    expect(JSON.parse((await run('team', 'show', 'crew', '--json')).printed).balance_usd).toBe(5);
  });

  test('codes under a key are made once and printed again, and other ones under it are refused', async () => {
    const make = ['codes', 'make', '5', '3', '--key', 'print run 7', '--json'];
    const [first, again] = [await run(...make), await run(...make)];
    expect([first.code, again.printed]).toEqual([0, first.printed]);
    expect(JSON.parse(first.printed).codes).toHaveLength(3);
    expect(await services.store.db.selectFrom('redeem_code').select('batch').execute()).toHaveLength(3);
    const other = await run('codes', 'make', '6', '3', '--key', 'print run 7');
    expect([other.code, other.printed]).toEqual([4, expect.stringContaining('3 codes of $5.00')]);
  });

  test('a balance is lowered with a reason, once for a key, and never below zero', async () => {
    expect((await run('account', 'debit', 'a@example.com', '2')).code).toBe(2);
    const debit = ['account', 'debit', 'a@example.com', '2', '--reason', 'paid out', '--key', 'p1'];
    expect((await run(...debit)).code).toBe(0);
    expect((await run(...debit)).code).toBe(0);
    expect(await balanceOf('a@example.com')).toBe(3);
    expect((await run('account', 'debit', 'a@example.com', '3.01', '--reason', 'too much')).code).toBe(4);
    expect(await balanceOf('a@example.com')).toBe(3);
  });
});

test('a secret is not replaced while nodes are connected to its Postgres, and they are named', async () => {
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const env = {
    DATABASE_URL: databaseUrl,
    TOLLGATE_SECRET: 'a secret of this test',
    TOLLGATE_NEW_SECRET: 'another secret of it',
  };
  const node = await openServices(readConfig(env), silentLog, systemClock);
  const printed: string[] = [];
  const context = {
    env,
    clock: systemClock,
    print: () => undefined,
    withServices: () => Promise.reject(new Error('the store was opened')),
    withStore: () => Promise.reject(new Error('the store was opened')),
  } as unknown as CliContext;
  for (const words of [['rotate'], ['reset', '--yes']])
    expect(await runCli(['secret', ...words], context, (line) => printed.push(line))).toBe(4);
  expect(printed).toEqual([
    expect.stringMatching(/^Nodes are running on this database, connected from \S+.* \(\d+ connections\)/),
    expect.stringMatching(/^Nodes are running on this database/),
  ]);
  await closeServices(node);
  await eventually(
    'its connections have ended',
    async () => (await connectedNodes(databaseUrl)).length === 0,
  );
  await expect(runCli(['secret', 'rotate'], context, () => undefined)).rejects.toThrow(
    'the store was opened',
  );
}, 60_000);
