import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPostgres } from '../../test/support/postgres.ts';
import { runCli } from './cli.ts';
import type { CliContext } from './command.ts';
import { chatAdmission, used } from '../ledger/testing/contract-harness.ts';
import { readConfig } from '../main/config.ts';
import { closeServices, openServices, type Services } from '../main/services.ts';
import { systemClock } from '../std/clock.ts';
import type { AccountId, TokenHash } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { nanoUsd, parseUsd, ZERO } from '../std/money.ts';

/** What becomes of a team's money when it is closed, and when it is not. */

describe.each(['SQLite', 'Postgres'])('on %s', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-closing-'));
  let services: Services;
  beforeAll(async () => {
    const url = database === 'Postgres' ? await (await testPostgres()).freshDatabase() : '';
    const env = { TOLLGATE_DATA: folder, DATABASE_URL: url, TOLLGATE_SECRET: 'a secret of this test' };
    services = await openServices(readConfig(env), silentLog, systemClock);
  }, 60_000);
  afterAll(async () => {
    const { breaches } = await services.ledger.ledger.verify({ full: true });
    await closeServices(services);
    rmSync(folder, { recursive: true });
    expect(breaches).toEqual([]);
  });

  async function run(...words: string[]): Promise<{ code: number; printed: string }> {
    const printed: string[] = [];
    const { ledger, ...rest } = services;
    const context = {
      clock: systemClock,
      machineUser: 'deploy',
      print: (line: string) => printed.push(line),
      withServices: (work: (given: unknown) => Promise<unknown>) => work({ ...rest, ledger: ledger.ledger }),
    } as unknown as CliContext;
    const code = await runCli(words, context, (line) => printed.push(line));
    return { code, printed: printed.join('\n') };
  }

  /** Half a dollar that its owner moved to it, and a gift of a tenth. */
  async function newTeam(name: string) {
    const { accounts, teams, ledger } = services;
    const { account: owner } = await accounts.create(`${name}@example.com`, {
      balance: usd('1'),
      actor: 'test',
    });
    const team = await teams.create(name, owner, { moved: usd('0.50'), actor: 'test' });
    const gift = { kind: 'credit', amount: usd('0.10'), cause: 'gift', actor: 'welcome' } as const;
    await ledger.ledger.post({ ...gift, accountId: team.id as AccountId });
    const member = await teams.membership(owner.id);
    return { name, owner, team, memberId: (member?.id ?? '') as AccountId };
  }

  async function balanceOf(id: string): Promise<number> {
    return (await services.accounts.get(id as AccountId)).balance;
  }

  test('what was paid moves back to an owner, and the gift is written off', async () => {
    const { name, owner, team } = await newTeam('paid');
    const { code, printed } = await run('team', 'close', name, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(printed)).toEqual({
      team: name,
      returned_usd: 0.5,
      written_off_usd: 0.1,
    });
    expect(await balanceOf(owner.id)).toBe(usd('1'));
    expect(await services.accounts.get(team.id as AccountId)).toMatchObject({ balance: 0, status: 'active' });
    const moves = services.store.db.selectFrom('wallet_move').select(['from_id', 'to_id', 'amount']);
    expect(await moves.where('from_id', '=', team.id).execute()).toEqual([
      { from_id: team.id, to_id: owner.id, amount: usd('0.50') },
    ]);
    expect((await run('team', 'show', name)).code).not.toBe(0);
  });

  test('an operator who says why writes all of it off', async () => {
    const { name, owner, team } = await newTeam('lost');
    const { printed } = await run('team', 'close', name, '--write-off', 'fraud', '--json');
    expect(JSON.parse(printed)).toMatchObject({ returned_usd: 0, written_off_usd: 0.6 });
    expect([await balanceOf(owner.id), await balanceOf(team.id)]).toEqual([usd('0.50'), ZERO]);
    const causes = services.store.db.selectFrom('entry').select('cause').where('account_id', '=', team.id);
    expect(await causes.where('amount', '<', 0).execute()).toEqual([{ cause: 'written off: fraud' }]);
  });

  test('a team with running requests or a debt is not closed, and keeps its money', async () => {
    const { name, owner, team, memberId } = await newTeam('busy');
    const { ledger } = services.ledger;
    const spent = { kind: 'adjustment', amount: 0 - usd('0.10'), cause: 'spent', actor: 'test' } as const;
    await ledger.post({ ...spent, accountId: team.id as AccountId });
    const caller = { id: memberId, hash: '' as TokenHash };
    const request = chatAdmission(caller, { caller: { kind: 'account', id: memberId } });
    expect(await ledger.admit(request)).toMatchObject({ kind: 'admitted', held: 2_100 });
    const running = await run('team', 'close', name);
    expect(running.printed).toContain('1 requests of the team are still running');
    expect(running.code).not.toBe(0);

    await services.store.db
      .insertInto('payment_reversal')
      .values({ id: 're_busy', kind: 'refund', intent_id: 'pi', amount: usd('1'), stage: 0, created_at: 1 })
      .execute();
    const refund = { accountId: owner.id as AccountId, amount: usd('1'), once: 'stripe:re_busy' };
    const named = { ...refund, cause: 'refund', actor: 'test' };
    expect(await ledger.reclaim(named)).toMatchObject({ owed: 2_100 });
    await ledger.settle(request.requestId, used({ output: 50 }));
    const owing = await run('team', 'close', name);
    expect(owing.printed).toContain('The team owes $0.0000021 of refunds.');
    expect(owing.code).not.toBe(0);
    expect(await balanceOf(team.id)).toBe(2_000);

    const { taken, lost, owed: left } = await ledger.reclaim(named);
    await services.store.db
      .updateTable('payment_reversal')
      .set({ account_id: owner.id, taken, lost, owed: left, booked_at: 1 })
      .where('id', '=', 're_busy')
      .execute();
    expect({ lost, left }).toEqual({ lost: nanoUsd(100), left: ZERO });
    expect((await run('team', 'close', name)).code).toBe(0);
    expect(await balanceOf(team.id)).toBe(0);
  });
});

function usd(text: string) {
  return parseUsd(text) ?? nanoUsd(0);
}
