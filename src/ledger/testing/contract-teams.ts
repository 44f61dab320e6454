import { expect } from 'bun:test';
import { DAY_MS, periodStart, type Period } from '../../std/calendar.ts';
import type { AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import {
  accountRow,
  addAccount,
  addTeam,
  chatAdmission,
  credit,
  expectSound,
  hold,
  nth,
  refusal,
  used,
  WIDE,
  type ContractCheck,
  type LedgerHarness,
} from './contract-harness.ts';
import { bookRefund, newRefund } from './contract-reclaim.ts';

/** One balance that several accounts spend, each within limits of its own. */
export function teamCases(check: ContractCheck): void {
  walletCases(check);
  togetherCases(check);
  endingWalletCases(check);
  pausedCases(check);
  closingCases(check);
  budgetCases(check);
  clockCases(check);
  changingBudgetCases(check);
  tokenLimitCases(check);
  expiryCases(check);
}

/** {@link chatAdmission} holds 2,100 and may be charged as much. */
const HELD = 2_100;
const ALL_USED = used({ input: 100, output: 1_000 });

function walletCases(check: ContractCheck): void {
  check("an app's request holds and takes its team's balance, and nothing of its own", async (harness) => {
    const team = await addTeam(harness, 10_000, 2);
    const [one, other] = [nth(team.apps, 0), nth(team.apps, 1)];
    const admission = await harness.ledger().admit(chatAdmission(one));
    expect(admission).toMatchObject({ kind: 'admitted', held: HELD, available: 7_900 });
    const running = await hold(harness, chatAdmission(other));
    expect(await accountRow(harness, team)).toMatchObject({ balance: 10_000, held: 2 * HELD, open_holds: 2 });
    expect(await accountRow(harness, one)).toMatchObject({
      balance: 0,
      held: 0,
      team_held: HELD,
      open_holds: 1,
    });
    await expectSound(harness);
    const settled = await harness.ledger().settle(running, used({ input: 100, output: 500 }));
    expect(settled).toMatchObject({ charged: 1_100, available: 10_000 - 1_100 - HELD });
    expect(await accountRow(harness, team)).toMatchObject({
      balance: 8_900,
      held: HELD,
      open_holds: 1,
      month_spent: 1_100,
    });
    expect(await accountRow(harness, other)).toMatchObject({
      team_held: 0,
      open_holds: 0,
      month_spent: 1_100,
    });
    await expectSound(harness);
  });

  check(
    'closing holds of many accounts of several wallets at once leaves each wallet what is left',
    async (harness) => {
      const [team, rival] = [await addTeam(harness, 50_000, 3), await addTeam(harness, 50_000, 2)];
      const alone = await addAccount(harness, 50_000);
      const callers = [...team.apps, ...rival.apps, alone, ...team.apps];
      const holds = await Promise.all(callers.map((caller) => hold(harness, chatAdmission(caller))));
      const settled = await Promise.all(holds.map((id) => harness.ledger().settle(id, ALL_USED)));
      expect(settled.map(({ charged }) => Number(charged))).toEqual(callers.map(() => HELD));
      const balances = await Promise.all([team, rival, alone].map((one) => accountRow(harness, one)));
      expect(balances.map(({ balance, held }) => [balance, held])).toEqual([
        [50_000 - 6 * HELD, 0],
        [50_000 - 2 * HELD, 0],
        [50_000 - HELD, 0],
      ]);
      await expectSound(harness);
    },
  );
}

function togetherCases(check: ContractCheck): void {
  check("a refusal says that the team's money is missing, and which month is over", async (harness) => {
    const team = await addTeam(harness, 0, 1);
    const app = nth(team.apps, 0);
    expect(refusal(await harness.ledger().admit(chatAdmission(app)))).toMatchObject({
      reason: 'insufficient_balance',
      isTeam: true,
    });
    await credit(harness, team.id, 100_000);
    await harness.store.db
      .updateTable('account')
      .set({ monthly_limit: 100 })
      .where('id', '=', team.id)
      .execute();
    const now = await harness.now();
    const { reason, limit, resetsAt = 0 } = refusal(await harness.ledger().admit(chatAdmission(app)));
    expect({ reason, limit }).toEqual({ reason: 'limit_reached', limit: 'month' });
    expect(resetsAt).toBeGreaterThan(now);
    expect(periodStart('month', resetsAt)).toBe(resetsAt);
    await expectSound(harness);
  });

  check('a team may do five times what an account may at once and in a minute', async (harness) => {
    const team = await addTeam(harness, 1_000_000, 6);
    const atOnce = { ...WIDE, concurrent: 2 };
    const holds = await Promise.all(
      [...team.apps, ...team.apps].map((app) =>
        harness.ledger().admit(chatAdmission(app, { limits: atOnce })),
      ),
    );
    expect(holds.filter(({ kind }) => kind === 'admitted')).toHaveLength(10);
    const perMinute = { ...WIDE, imagesPerMinute: 1 };
    const images = await Promise.all(
      team.apps.map((app) =>
        harness.ledger().admit(chatAdmission(app, { rate: 'images', limits: perMinute })),
      ),
    );
    const refused = images.flatMap((answer) => (answer.kind === 'refused' ? [answer.reason] : []));
    expect(refused).toEqual(['rate_limit_exceeded']);
    await expectSound(harness);
  });
}

function endingWalletCases(check: ContractCheck): void {
  check(
    'an account that has left its team is nobody, and what it began is charged to the team',
    async (harness) => {
      const team = await addTeam(harness, 10_000, 1);
      const app = nth(team.apps, 0);
      const running = await hold(harness, chatAdmission(app));
      await harness.store.db.updateTable('account').set({ ended_at: 5 }).where('id', '=', app.id).execute();
      expect(refusal(await harness.ledger().admit(chatAdmission(app))).reason).toBe('invalid_token');
      expect(await harness.ledger().identify({ kind: 'token', hash: app.hash })).toBeUndefined();
      await harness.ledger().settle(running, ALL_USED);
      expect(await accountRow(harness, team)).toMatchObject({ balance: 10_000 - HELD, held: 0 });
      await expectSound(harness);
    },
  );
}

function pausedCases(check: ContractCheck): void {
  check('no account of a paused team spends anything, until the team goes on', async (harness) => {
    const [team, rival] = [await addTeam(harness, 50_000, 2), await addTeam(harness, 50_000, 1)];
    const [one, other] = [nth(team.apps, 0), nth(team.apps, 1)];
    const running = await hold(harness, chatAdmission(one));
    const set = (status: 'active' | 'disabled') =>
      harness.store.db.updateTable('account').set({ status }).where('id', '=', team.id).execute();
    await set('disabled');
    expect(refusal(await harness.ledger().admit(chatAdmission(one))).reason).toBe('invalid_token');
    // Beside others, and as a person in the console.
    const session = chatAdmission(other, { caller: { kind: 'account', id: other.id } });
    const asked = [chatAdmission(one), chatAdmission(nth(rival.apps, 0)), session];
    const answers = await Promise.all(asked.map((request) => harness.ledger().admit(request)));
    expect(answers.map(({ kind }) => kind)).toEqual(['refused', 'admitted', 'refused']);
    expect(await harness.ledger().identify({ kind: 'token', hash: one.hash })).toBeUndefined();
    await harness.ledger().settle(running, ALL_USED);
    expect(await accountRow(harness, team)).toMatchObject({ balance: 50_000 - HELD, held: 0 });
    await set('active');
    await hold(harness, chatAdmission(one));
    await expectSound(harness);
  });
}

function closingCases(check: ContractCheck): void {
  check(
    "what a payer gets back is taken from the team's balance as its requests release it",
    async (harness) => {
      const team = await addTeam(harness, 3_000, 1);
      const running = await hold(harness, chatAdmission(nth(team.apps, 0)));
      const reclaim = await newRefund(harness, team, 2_000);
      const first = await harness.ledger().reclaim(reclaim);
      expect(first).toMatchObject({ taken: 900, owed: 1_100 });
      await bookRefund(harness, reclaim, first);
      expect(refusal(await harness.ledger().admit(chatAdmission(nth(team.apps, 0)))).reason).toBe(
        'funds_on_hold',
      );
      await harness.ledger().settle(running, used({}));
      const second = await harness.ledger().reclaim(reclaim);
      expect(second).toMatchObject({ taken: 2_000, owed: 0, lost: 0 });
      await bookRefund(harness, reclaim, second);
      await expectSound(harness);
    },
  );

  check('an archived day of an app is one charge of its team', async (harness) => {
    const team = await addTeam(harness, 10_000, 1);
    const app = nth(team.apps, 0);
    await harness.ledger().settle(await hold(harness, chatAdmission(app)), ALL_USED);
    const { day } = await harness.store.db
      .selectFrom('usage_day')
      .select('day')
      .where('account_id', '=', app.id)
      .executeTakeFirstOrThrow();
    await harness.advance(2 * DAY_MS);
    expect(await harness.ledger().archive({ accountId: app.id, day })).toMatchObject({ kind: 'archived' });
    const charges = await harness.store.db
      .selectFrom('entry')
      .select(['account_id', 'amount'])
      .where('kind', '=', 'charge')
      .execute();
    expect(charges).toEqual([{ account_id: team.id, amount: -HELD }]);
    await expectSound(harness);
  });

  check('the check finds a team whose holds are not those of its accounts', async (harness) => {
    const team = await addTeam(harness, 10_000, 1);
    await hold(harness, chatAdmission(nth(team.apps, 0)));
    await harness.corrupt(`UPDATE account SET team_held = 1 WHERE kind = 'app'`);
    expect(await breaches(harness)).toEqual([`I2 ${nth(team.apps, 0).id}`]);
    await harness.corrupt(`UPDATE account SET team_held = ${HELD} WHERE kind = 'app'`);
    await harness.corrupt(`UPDATE account SET held = 0 WHERE kind = 'team'`);
    expect(await breaches(harness)).toEqual([`I2 ${team.id}`]);
  });
}

function budgetCases(check: ContractCheck): void {
  check('a budget is never exceeded, and says when it begins again', async (harness) => {
    const team = await addTeam(harness, 100_000, 1);
    const app = nth(team.apps, 0);
    await setBudget(harness, app.id, 5_000, 'day');
    const first = await harness.ledger().admit(chatAdmission(app));
    expect(first).toMatchObject({ kind: 'admitted', available: 2_900, budgetLeft: 2_900 });
    const second = await hold(harness, chatAdmission(app));
    // 800 are left of it: a shorter answer fits, a long one would wait for what is on hold.
    expect(await harness.ledger().admit(chatAdmission(app))).toMatchObject({ kind: 'admitted', output: 350 });
    expect(refusal(await harness.ledger().admit(chatAdmission(app))).reason).toBe('funds_on_hold');
    await harness.ledger().settle(second, ALL_USED);
    const {
      reason,
      limit,
      resetsAt = 0,
      isTeam,
    } = refusal(
      await harness
        .ledger()
        .admit(chatAdmission(app, { ceiling: { kind: 'tokens', input: 2_500, output: 1_000, choices: 1 } })),
    );
    expect({ reason, limit, isTeam }).toEqual({ reason: 'limit_reached', limit: 'budget_day', isTeam: true });
    expect(resetsAt - (await harness.now())).toBeLessThanOrEqual(DAY_MS);
    expect(periodStart('day', resetsAt)).toBe(resetsAt);
    await expectSound(harness);
  });

  check('a person without a team may have a budget, too', async (harness) => {
    const account = await addAccount(harness, 100_000);
    await setBudget(harness, account.id, HELD, 'total');
    await harness.ledger().settle(await hold(harness, chatAdmission(account)), ALL_USED);
    const refused = refusal(await harness.ledger().admit(chatAdmission(account)));
    expect(refused).toMatchObject({ reason: 'limit_reached', limit: 'budget_total', isTeam: false });
    expect(refused.resetsAt).toBeUndefined();
    await harness.ledger().setBudget({ accountId: account.id, budget: undefined });
    await hold(harness, chatAdmission(account));
    await expectSound(harness);
  });

  check('a request counts in the period in which it was admitted', async (harness) => {
    const account = await addAccount(harness, 100_000);
    await setBudget(harness, account.id, 2 * HELD, 'day');
    const before = await hold(harness, chatAdmission(account));
    const now = await harness.now();
    await harness.ledger().renew([{ requestId: before, delivered: ALL_USED.usage }]);
    await harness.advance(periodStart('day', now) + DAY_MS - now + 1_000);
    // The new day has its whole budget, whatever the old one still holds.
    const [one, two] = [
      await hold(harness, chatAdmission(account)),
      await hold(harness, chatAdmission(account)),
    ];
    await harness.ledger().settle(before, ALL_USED);
    expect(await accountRow(harness, account)).toMatchObject({ budget_used: 0, budget_held: 2 * HELD });
    await harness.ledger().settle(one, ALL_USED);
    await harness.ledger().settle(two, used({ output: 100 }));
    expect(await accountRow(harness, account)).toMatchObject({ budget_used: HELD + 200, budget_held: 0 });
    expect(await accountRow(harness, account)).toMatchObject({ balance: 100_000 - 2 * HELD - 200 });
    await expectSound(harness);
  });
}

function clockCases(check: ContractCheck): void {
  check('a budget that is set among requests of the same moment counts all of them', async (harness) => {
    const account = await addAccount(harness, 100_000);
    await setBudget(harness, account.id, 50_000, 'day');
    const admit = () => harness.ledger().admit(chatAdmission(account));
    const set = setBudget.bind(undefined, harness, account.id, 2 * HELD);
    const [one, , two] = await Promise.all([admit(), set('total'), admit(), set('month')]);
    expect([one.kind, two.kind]).toEqual(['admitted', 'admitted']);
    expect(await accountRow(harness, account)).toMatchObject({ budget: 2 * HELD, budget_held: 2 * HELD });
    await expectSound(harness);
    expect((await admit()).kind).toBe('refused');
  });

  check('after a clock that jumps back, requests count in the period that had begun', async (harness) => {
    const team = await addTeam(harness, 100_000, 2);
    const [one, other] = [nth(team.apps, 0), nth(team.apps, 1)];
    await harness.advance(DAY_MS);
    for (const { id } of team.apps) await setBudget(harness, id, 3 * HELD, 'day');
    await harness.advance(-DAY_MS);
    const alone = await hold(harness, chatAdmission(one));
    const asked = [one, one, other, other, other, other].map((app) => chatAdmission(app));
    const answers = await Promise.all(asked.map((request) => harness.ledger().admit(request)));
    expect(answers.map(({ kind }) => kind === 'admitted')).toEqual([true, true, true, true, true, false]);
    const usedAndHeld = async (): Promise<(readonly [number, number])[]> =>
      (await Promise.all(team.apps.map((app) => accountRow(harness, app)))).map(
        ({ budget_used, budget_held }) => [budget_used, budget_held] as const,
      );
    expect(await usedAndHeld()).toEqual([
      [0, 3 * HELD],
      [0, 3 * HELD],
    ]);
    await expectSound(harness);
    await Promise.all(
      [alone, ...asked.slice(1, 4).map(({ requestId }) => requestId)].map((id) =>
        harness.ledger().settle(id, ALL_USED),
      ),
    );
    expect(await usedAndHeld()).toEqual([
      [2 * HELD, HELD],
      [2 * HELD, HELD],
    ]);
    await expectSound(harness);
  });
}

function changingBudgetCases(check: ContractCheck): void {
  check('a changed budget counts what its period has used and holds already', async (harness) => {
    const account = await addAccount(harness, 100_000);
    await harness.ledger().settle(await hold(harness, chatAdmission(account)), ALL_USED);
    await harness.advance(DAY_MS);
    await harness.ledger().settle(await hold(harness, chatAdmission(account)), used({ output: 10 }));
    const running = await hold(harness, chatAdmission(account));
    const usedIn = async (per: Period): Promise<[number, number]> => {
      await setBudget(harness, account.id, 50_000, per);
      const { budget_used, budget_held } = await accountRow(harness, account);
      await expectSound(harness);
      return [budget_used, budget_held];
    };
    expect(await usedIn('day')).toEqual([20, HELD]);
    expect(await usedIn('total')).toEqual([HELD + 20, HELD]);
    await setBudget(harness, account.id, HELD, 'total');
    expect(refusal(await harness.ledger().admit(chatAdmission(account))).limit).toBe('budget_total');
    await harness.ledger().settle(running, ALL_USED);
    await expectSound(harness);
  });

  check(
    'many at once on many budgets and one balance: each within its own, all within the balance',
    async (harness) => {
      const team = await addTeam(harness, 20 * HELD, 8);
      for (const { id } of team.apps) await setBudget(harness, id, 3 * HELD, 'month');
      const full = { ...WIDE };
      const asked = team.apps.flatMap((app) => Array.from({ length: 5 }, () => app));
      const answers = await Promise.all(
        asked.map((app) =>
          harness.ledger().admit(
            chatAdmission(app, {
              limits: full,
              ceiling: { kind: 'tokens', input: 100, output: 1_000, choices: 1 },
            }),
          ),
        ),
      );
      const admitted = answers.filter(({ kind }) => kind === 'admitted').length;
      expect(admitted).toBeGreaterThanOrEqual(20);
      expect(await accountRow(harness, team)).toMatchObject({ balance: 20 * HELD });
      const rows = await Promise.all(team.apps.map((app) => accountRow(harness, app)));
      for (const row of rows) expect(row.budget_held).toBeLessThanOrEqual(3 * HELD);
      expect(rows.reduce((sum, row) => sum + row.team_held, 0)).toBe((await accountRow(harness, team)).held);
      await expectSound(harness);
    },
  );

  check('the check finds a budget that forgot what it has used', async (harness) => {
    const account = await addAccount(harness, 100_000);
    await setBudget(harness, account.id, 50_000, 'month');
    await harness.ledger().settle(await hold(harness, chatAdmission(account)), ALL_USED);
    await harness.corrupt(`UPDATE account SET budget_used = 0 WHERE id = '${account.id}'`);
    expect(await breaches(harness)).toEqual([`I11 ${account.id}`]);
    await harness.corrupt(
      `UPDATE account SET budget_used = ${HELD}, budget_held = 1 WHERE id = '${account.id}'`,
    );
    expect(await breaches(harness)).toEqual([`I11 ${account.id}`]);
  });
}

function tokenLimitCases(check: ContractCheck): void {
  check('a token may use the models that its patterns name, and no other', async (harness) => {
    const account = await addAccount(harness, 1_000_000);
    const admitted = async (models: string, model: string, endpoint = 'partner_chat'): Promise<boolean> => {
      await harness.store.db
        .updateTable('account')
        .set({ token_models: models })
        .where('id', '=', account.id)
        .execute();
      const answer = await harness.ledger().admit(chatAdmission(account, { endpoint, model }));
      if (answer.kind === 'refused') expect(answer.reason).toBe('model_not_allowed');
      return answer.kind === 'admitted';
    };
    expect(await admitted('partner_chat/m', 'm')).toBe(true);
    expect(await admitted('partner_chat/m', 'm2')).toBe(false);
    expect(await admitted('*', 'anything')).toBe(true);
    expect(await admitted('partner_*/gpt-*', 'gpt-5')).toBe(true);
    expect(await admitted('partner_*/gpt-*', 'gp-5')).toBe(false);
    expect(await admitted('*/a*b*c', 'axbyc')).toBe(true);
    expect(await admitted('*/a*b*c', 'axcyb')).toBe(false);
    expect(await admitted('*/ab*ba', 'aba')).toBe(false);
    // What is special in SQL is not special here.
    expect(await admitted('*/a_b', 'axb')).toBe(false);
    expect(await admitted('*/a_b', 'a_b')).toBe(true);
    expect(await admitted('*/100%', '1000')).toBe(false);
    expect(await admitted('other/*\n*/m', 'm')).toBe(true);
    expect(await admitted('*/x\\', 'x\\')).toBe(true);
    await expectSound(harness);
  });

  check('a token is refused from a network that it does not name; a session is not', async (harness) => {
    const account = await addAccount(harness, 1_000_000);
    await harness.store.db
      .updateTable('account')
      .set({ token_networks: '192.0.2.0/24\n2001:db8::/32\n203.0.113.9' })
      .where('id', '=', account.id)
      .execute();
    const from = (address: string) => ({ kind: 'token', hash: account.hash, address }) as const;
    const allowed = {
      '192.0.2.77': true,
      '192.0.3.1': false,
      '2001:db8:1::1': true,
      '2001:db9::1': false,
      '203.0.113.9': true,
    };
    for (const [address, isAllowed] of Object.entries(allowed)) {
      const answer = await harness.ledger().admit(chatAdmission(account, { caller: from(address) }));
      expect([address, answer.kind]).toEqual([address, isAllowed ? 'admitted' : 'refused']);
      expect(await harness.ledger().identify(from(address))).toMatchObject({ isNetworkAllowed: isAllowed });
    }
    await hold(harness, chatAdmission(account, { caller: { kind: 'account', id: account.id } }));
    await expectSound(harness);
  });
}

function expiryCases(check: ContractCheck): void {
  check('a token that has expired is not valid; a session is', async (harness) => {
    const account = await addAccount(harness, 1_000_000);
    const expires = (await harness.now()) + 60_000;
    await harness.store.db
      .updateTable('account')
      .set({ token_expires_at: expires })
      .where('id', '=', account.id)
      .execute();
    await hold(harness, chatAdmission(account));
    expect(await harness.ledger().identify({ kind: 'token', hash: account.hash })).toBeDefined();
    await harness.advance(60_000);
    expect(refusal(await harness.ledger().admit(chatAdmission(account))).reason).toBe('invalid_token');
    expect(await harness.ledger().identify({ kind: 'token', hash: account.hash })).toBeUndefined();
    await hold(harness, chatAdmission(account, { caller: { kind: 'account', id: account.id } }));
    await expectSound(harness);
  });

  check('who is asked for hears the team, its role, the budget and what is left', async (harness) => {
    const team = await addTeam(harness, 10_000, 1);
    const app = nth(team.apps, 0);
    await setBudget(harness, app.id, 4_000, 'week');
    await hold(harness, chatAdmission(app));
    const snapshot = await harness.ledger().identify({ kind: 'token', hash: app.hash });
    expect(snapshot).toMatchObject({
      kind: 'app',
      name: 'app 0',
      team: { id: team.id, name: team.id, role: 'member' },
      balance: 10_000,
      held: HELD,
      ownHeld: HELD,
      budget: { amount: 4_000, per: 'week', used: 0, held: HELD },
    });
    expect(snapshot?.email).toBeUndefined();
  });
}

async function setBudget(
  harness: LedgerHarness,
  accountId: AccountId,
  amount: number,
  per: Period,
): Promise<void> {
  await harness.ledger().setBudget({ accountId, budget: { amount: nanoUsd(amount), per } });
}

async function breaches(harness: LedgerHarness): Promise<string[]> {
  const found = (await harness.ledger().verify({ full: true })).breaches;
  return found.map(({ invariant, subject }) => `${invariant} ${subject}`);
}
