import { expect } from 'bun:test';
import type { AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import type { Reclaim, Reclaimed } from '../port.ts';
import { lossKey, paymentKey, reversalKey } from '../reclaim.ts';
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
  type ContractCheck,
  type LedgerHarness,
  type TestAccount,
} from './contract-harness.ts';
import { bookRefund, newRefund } from './contract-reclaim.ts';

/** Money that moves from one balance to another, and what becomes of it when its payer gets it back. */
export function movedMoneyCases(check: ContractCheck): void {
  moveCases(check);
  followedCases(check);
  chainCases(check);
  owedElsewhereCases(check);
  wonCases(check);
  endedWalletCases(check);
  movedBreachCases(check);
}

function moveCases(check: ContractCheck): void {
  check('money that is moved is an entry on each side, once', async (harness) => {
    const payer = await addAccount(harness, 9_000);
    const team = await addTeam(harness, 1_000, 1);
    const move = moveOf(payer, team.id, 4_000);
    await Promise.all([harness.ledger().move(move), harness.ledger().move(move)]);
    await harness.ledger().move(move);
    expect(await accountRow(harness, payer)).toMatchObject({ balance: 5_000 });
    expect(await accountRow(harness, team)).toMatchObject({ balance: 5_000 });
    const entries = await harness.store.db
      .selectFrom('entry')
      .select(['account_id', 'amount', 'cause'])
      .where('cause', 'like', 'moved%')
      .orderBy('amount')
      .execute();
    expect(entries).toEqual([
      { account_id: payer.id, amount: -4_000, cause: 'moved to the team' },
      { account_id: team.id, amount: 4_000, cause: 'moved from the payer' },
    ]);
    await expectSound(harness);
  });

  check('only money that is free moves, and none to an account that has ended', async (harness) => {
    const payer = await addAccount(harness, 3_000);
    const team = await addTeam(harness, 0, 1);
    await hold(harness, chatAdmission(payer));
    const move = async (amount: number, from = payer): Promise<unknown> =>
      await harness
        .ledger()
        .move(moveOf(from, team.id, amount))
        .then(() => 'moved')
        .catch((thrown: { code: string }) => thrown.code);
    expect(await move(901)).toBe('invalid_field');
    expect(await move(900)).toBe('moved');
    const other = await addAccount(harness, 3_000);
    await harness.store.db.updateTable('account').set({ ended_at: 5 }).where('id', '=', team.id).execute();
    expect(await move(1, other)).toBe('invalid_field');
    expect(await accountRow(harness, other)).toMatchObject({ balance: 3_000 });
    await expectSound(harness);
  });
}

type Wallet = Pick<TestAccount, 'id'>;

function followedCases(check: ContractCheck): void {
  check('what the payer lacks comes back from the team to which it moved', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 4_000);
    const dispute = await newRefund(harness, payer, 5_000);
    await booked(harness, dispute, { taken: 5_000, lost: 0, owed: 0 });
    await booked(harness, dispute, { taken: 5_000, lost: 0, owed: 0 });
    expect(await balances(harness, [payer, team])).toEqual([0, 0]);
    const entries = await harness.store.db
      .selectFrom('entry')
      .select(['account_id', 'amount', 'once', 'cause'])
      .where('once', 'like', `%${dispute.once}%`)
      .orderBy('once')
      .execute();
    const id = `${dispute.once}:${team.id}:${payer.id}`;
    expect(entries).toEqual([
      { account_id: payer.id, amount: 4_000, once: `move:${id}:in`, cause: `refund: from ${team.id}` },
      { account_id: team.id, amount: -4_000, once: `move:${id}:out`, cause: `refund: to ${payer.id}` },
      { account_id: payer.id, amount: -5_000, once: dispute.once, cause: 'refund' },
    ]);
  });

  check('a team owes no more than moved to it, and what was spent of it is lost', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 2_000);
    await credit(harness, payer.id, -3_000);
    await credit(harness, team.id, 10_000);
    await booked(harness, await newRefund(harness, payer, 5_000), { taken: 2_000, lost: 3_000, owed: 0 });
    expect(await balances(harness, [payer, team])).toEqual([0, 10_000]);

    const other = await paidAndMoved(harness, 5_000, 5_000);
    await credit(harness, other.team.id, -1_500);
    await booked(harness, await newRefund(harness, other.payer, 5_000), {
      taken: 3_500,
      lost: 1_500,
      owed: 0,
    });
  });

  check('several moves, one of them spent: each team gives what it still has', async (harness) => {
    const payer = await addAccount(harness, 6_000);
    const teams = [await addTeam(harness, 0, 1), await addTeam(harness, 0, 1), await addTeam(harness, 0, 1)];
    for (const team of teams)
      for (const amount of [1_500, 500]) await harness.ledger().move(moveOf(payer, team.id, amount));
    await credit(harness, nth(teams, 0).id, -2_000);
    await credit(harness, nth(teams, 1).id, -700);
    await booked(harness, await newRefund(harness, payer, 3_000), { taken: 3_000, lost: 0, owed: 0 });
    expect(await balances(harness, teams)).toEqual([0, 0, 300]);
    await booked(harness, await newRefund(harness, payer, 3_000), { taken: 300, lost: 2_700, owed: 0 });
    expect(await balances(harness, teams)).toEqual([0, 0, 0]);
  });

  check('what moved before the payment was made was other money', async (harness) => {
    const payer = await addAccount(harness, 4_000);
    const team = await addTeam(harness, 0, 1);
    await harness.ledger().move(moveOf(payer, team.id, 4_000));
    await harness.advance(1_000);
    const creditOnce = paymentKey('pi_later');
    const paid = { accountId: payer.id, kind: 'credit', cause: 'paid', actor: 'test' } as const;
    await harness.ledger().post({ ...paid, amount: 3_000, once: creditOnce });
    await credit(harness, payer.id, -3_000);
    const refund = { ...(await newRefund(harness, payer, 3_000)), creditOnce };
    await booked(harness, refund, { taken: 0, lost: 3_000, owed: 0 });
    expect(await balances(harness, [team])).toEqual([4_000]);
  });
}

function chainCases(check: ContractCheck): void {
  check('it follows through a team that was closed to the owner who got the rest', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 5_000);
    const owner = await addAccount(harness, 100);
    await credit(harness, team.id, -1_000);
    await harness.ledger().move(moveOf(team, owner.id, 4_000));
    await end(harness, team);
    const dispute = await newRefund(harness, payer, 5_000);
    await booked(harness, dispute, { taken: 4_000, lost: 1_000, owed: 0 });
    expect(await balances(harness, [payer, team, owner])).toEqual([0, 0, 100]);
    await harness.ledger().giveBack(dispute);
    expect(await balances(harness, [payer, team, owner])).toEqual([0, 0, 4_100]);
    await expectSound(harness);
  });

  check('money that went round and came back to its payer is taken there', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 5_000);
    await harness.ledger().move(moveOf(team, payer.id, 4_000));
    await credit(harness, team.id, 9_000);
    await booked(harness, await newRefund(harness, payer, 5_000), { taken: 5_000, lost: 0, owed: 0 });
    expect(await balances(harness, [payer, team])).toEqual([0, 9_000]);
  });

  check('two ways to one wallet take together what both have moved there', async (harness) => {
    const payer = await addAccount(harness, 4_000);
    const teams = [await addTeam(harness, 0, 1), await addTeam(harness, 0, 1)];
    const owner = await addAccount(harness);
    for (const team of teams) {
      await harness.ledger().move(moveOf(payer, team.id, 2_000));
      await harness.ledger().move(moveOf(team, owner.id, 1_700));
      await credit(harness, team.id, -300);
    }
    await booked(harness, await newRefund(harness, payer, 4_000), { taken: 3_400, lost: 600, owed: 0 });
    expect(await balances(harness, [payer, ...teams, owner])).toEqual([0, 0, 0, 0]);
  });
}

function owedElsewhereCases(check: ContractCheck): void {
  check(
    "what the team's requests hold is owed by the team, which cannot spend it, and is taken as they end",
    async (harness) => {
      const { payer, team, app } = await paidAndMoved(harness, 5_000, 3_000);
      await credit(harness, payer.id, -2_000);
      const running = await hold(harness, chatAdmission(app));
      const dispute = await newRefund(harness, payer, 3_000);
      await booked(harness, dispute, { taken: 900, lost: 0, owed: 2_100 });
      expect(await accountRow(harness, team)).toMatchObject({ balance: 2_100, held: 2_100, owed: 2_100 });
      expect(await accountRow(harness, payer)).toMatchObject({ balance: 0, owed: 0 });
      await credit(harness, team.id, 2_000);
      expect(refusal(await harness.ledger().admit(chatAdmission(app)))).toMatchObject({
        available: 0,
      });
      await booked(harness, dispute, { taken: 900, lost: 0, owed: 2_100 });
      await harness.ledger().settle(running, used({ output: 50 }));
      await booked(harness, dispute, { taken: 3_000, lost: 0, owed: 0 });
      expect(await accountRow(harness, team)).toMatchObject({ balance: 1_900, held: 0, owed: 0 });
    },
  );

  check('what the team then uses all the same is lost, and nothing of it twice', async (harness) => {
    const { payer, app } = await paidAndMoved(harness, 2_100, 2_100);
    const running = await hold(harness, chatAdmission(app));
    const disputes = [await newRefund(harness, payer, 1_500), await newRefund(harness, payer, 600)];
    await booked(harness, nth(disputes, 0), { taken: 0, lost: 0, owed: 1_500 });
    await booked(harness, nth(disputes, 1), { taken: 0, lost: 0, owed: 600 });
    await harness.ledger().settle(running, used({ input: 100, output: 300 }));
    const ended = await Promise.all(disputes.map((dispute) => harness.ledger().reclaim(dispute)));
    for (const [index, dispute] of disputes.entries()) await bookRefund(harness, dispute, nth(ended, index));
    expect(ended.reduce((sum, { taken }) => sum + taken, 0)).toBe(1_400);
    expect(ended.reduce((sum, { lost }) => sum + lost, 0)).toBe(700);
    await expectSound(harness);
  });

  check('a payment that comes later pays first, and the team keeps what is its own', async (harness) => {
    const { payer, team, app } = await paidAndMoved(harness, 2_100, 2_100);
    const running = await hold(harness, chatAdmission(app));
    const dispute = await newRefund(harness, payer, 2_100);
    await booked(harness, dispute, { taken: 0, lost: 0, owed: 2_100 });
    await credit(harness, payer.id, 2_500);
    await booked(harness, dispute, { taken: 2_100, lost: 0, owed: 0 });
    expect(await accountRow(harness, team)).toMatchObject({ balance: 2_100, held: 2_100, owed: 0 });
    expect(await balances(harness, [payer])).toEqual([400]);
    await harness.ledger().settle(running, used({}));
    await expectSound(harness);
  });
}

function wonCases(check: ContractCheck): void {
  check('what comes back goes to the wallets from which it was taken, once', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 4_000);
    await credit(harness, team.id, -1_000);
    const dispute = await newRefund(harness, payer, 5_000);
    await booked(harness, dispute, { taken: 4_000, lost: 1_000, owed: 0 });
    for (let time = 0; time < 3; time++)
      expect(await harness.ledger().giveBack(dispute)).toEqual({
        taken: nanoUsd(4_000),
        lost: nanoUsd(1_000),
      });
    expect(await balances(harness, [payer, team])).toEqual([1_000, 3_000]);
    await expectSound(harness);
    // It can be taken once more for another dispute, and no more than moved.
    await booked(harness, await newRefund(harness, payer, 5_000), { taken: 4_000, lost: 1_000, owed: 0 });
    expect(await balances(harness, [payer, team])).toEqual([0, 0]);
  });

  check('what was owed by the team is owed no more when the money came back', async (harness) => {
    const { payer, team, app } = await paidAndMoved(harness, 3_000, 3_000);
    await hold(harness, chatAdmission(app));
    const dispute = await newRefund(harness, payer, 3_000);
    await booked(harness, dispute, { taken: 900, lost: 0, owed: 2_100 });
    await Promise.all([harness.ledger().giveBack(dispute), harness.ledger().giveBack(dispute)]);
    expect(await accountRow(harness, team)).toMatchObject({ balance: 3_000, held: 2_100, owed: 0 });
    expect(await accountRow(harness, payer)).toMatchObject({ balance: 0, owed: 0 });
    expect(await harness.ledger().reclaim(dispute)).toEqual(done({ taken: 900, lost: 0, owed: 0 }));
    await expectSound(harness);
  });

  check('refunds and wins at once, many of them: no money is made or lost', async (harness) => {
    const { payer, team, app } = await paidAndMoved(harness, 9_000, 6_000);
    await hold(harness, chatAdmission(app));
    const disputes = await Promise.all([1_000, 2_500, 4_000].map((one) => newRefund(harness, payer, one)));
    const ledger = harness.ledger();
    await Promise.all(
      disputes.flatMap((dispute) => [
        ledger.reclaim(dispute),
        ledger.reclaim(dispute),
        ledger.giveBack(dispute),
      ]),
    );
    for (const dispute of disputes) {
      await bookRefund(harness, dispute, await ledger.reclaim(dispute));
      await ledger.giveBack(dispute);
    }
    expect(await balances(harness, [payer, team])).toEqual([3_000, 6_000]);
    await expectSound(harness);
  });
}

function endedWalletCases(check: ContractCheck): void {
  check('what a closed team gave stays with the payer when it comes back', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 4_000);
    const dispute = await newRefund(harness, payer, 5_000);
    await booked(harness, dispute, { taken: 5_000, lost: 0, owed: 0 });
    await end(harness, team);
    await harness.ledger().giveBack(dispute);
    expect(await balances(harness, [payer, team])).toEqual([5_000, 0]);
    await expectSound(harness);
  });
}

/** I13, and I9 where others than the payer owe. */
function movedBreachCases(check: ContractCheck): void {
  check('a move without its entries is a breach, and so is one of another amount', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 4_000);
    const [row] = await harness.store.db.selectFrom('wallet_move').selectAll().execute();
    const id = row?.id ?? '';
    await harness.corrupt(`UPDATE wallet_move SET amount = 3999 WHERE id = '${id}'`);
    expect(await breachesIn(harness)).toEqual([`I13 move ${id}`]);
    await harness.corrupt(`UPDATE wallet_move SET amount = 4000 WHERE id = '${id}'`);
    await harness.corrupt(`INSERT INTO wallet_move VALUES ('none', '${payer.id}', '${team.id}', 1, 1)`);
    expect(await breachesIn(harness)).toEqual(['I13 move none']);
  });

  check('more that came back than had moved is a breach', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 4_000);
    const dispute = await newRefund(harness, payer, 5_000);
    await booked(harness, dispute, { taken: 5_000, lost: 0, owed: 0 });
    await harness.corrupt(`DELETE FROM wallet_move WHERE from_id = '${payer.id}'`);
    expect(await breachesIn(harness)).toEqual([`I13 ${team.id} to ${payer.id}`]);
  });

  check('what came back to the payer and was not taken is a breach', async (harness) => {
    const { payer, team } = await paidAndMoved(harness, 5_000, 4_000);
    const dispute = await newRefund(harness, payer, 1_000);
    await booked(harness, dispute, { taken: 1_000, lost: 0, owed: 0 });
    await harness
      .ledger()
      .move({ ...moveOf(team, payer.id, 2_000), id: `${dispute.once}:${team.id}:${payer.id}` });
    expect(await breachesIn(harness)).toEqual([`I13 ${dispute.once.slice(reversalKey('').length)}`]);
  });

  check('a team that forgot what it owes for its payer is a breach', async (harness) => {
    const { payer, team, app } = await paidAndMoved(harness, 2_100, 2_100);
    await hold(harness, chatAdmission(app));
    const dispute = await newRefund(harness, payer, 2_100);
    await booked(harness, dispute, { taken: 0, lost: 0, owed: 2_100 });
    await harness.corrupt(`UPDATE account SET owed = 0 WHERE id = '${team.id}'`);
    expect(await breachesIn(harness)).toEqual([`I12 ${team.id}`]);
    await harness.corrupt(`DELETE FROM debt`);
    expect(await breachesIn(harness)).toEqual([`I9 ${dispute.once.slice(reversalKey('').length)}`]);
  });
}

/** A person who paid, and a team to which a part of it moved. */
async function paidAndMoved(harness: LedgerHarness, paid: number, moved: number) {
  const payer = await addAccount(harness, paid);
  const team = await addTeam(harness, 0, 1);
  await harness.ledger().move(moveOf(payer, team.id, moved));
  return { payer, team, app: nth(team.apps, 0) };
}

async function booked(
  harness: LedgerHarness,
  reclaim: Reclaim,
  expected: { readonly taken: number; readonly lost: number; readonly owed: number },
): Promise<void> {
  const got = await harness.ledger().reclaim(reclaim);
  expect(got).toEqual(done(expected));
  await bookRefund(harness, reclaim, got);
  const loss = await harness.store.db
    .selectFrom('entry')
    .select('amount')
    .where('once', '=', lossKey(reclaim.once))
    .executeTakeFirst();
  expect(loss?.amount ?? 0).toBe(expected.lost);
  await expectSound(harness);
}

function done({ taken, lost, owed }: Record<keyof Reclaimed, number>): Reclaimed {
  return { taken: nanoUsd(taken), lost: nanoUsd(lost), owed: nanoUsd(owed) };
}

async function balances(harness: LedgerHarness, wallets: readonly Wallet[]): Promise<number[]> {
  const rows = await Promise.all(wallets.map((wallet) => accountRow(harness, wallet)));
  return rows.map(({ balance }) => balance);
}

async function end(harness: LedgerHarness, { id }: Wallet): Promise<void> {
  await harness.store.db.updateTable('account').set({ ended_at: 5 }).where('id', '=', id).execute();
}

async function breachesIn(harness: LedgerHarness): Promise<string[]> {
  const { breaches } = await harness.ledger().verify();
  return breaches.map(({ invariant, subject }) => `${invariant} ${subject}`);
}

let moves = 0;

function moveOf({ id }: Pick<TestAccount, 'id'>, toId: AccountId, amount: number) {
  return {
    id: `m${++moves}`,
    fromId: id,
    toId,
    amount: nanoUsd(amount),
    outCause: 'moved to the team',
    inCause: 'moved from the payer',
    actor: 'test',
  };
}
