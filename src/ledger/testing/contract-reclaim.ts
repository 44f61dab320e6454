import { expect } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import type { AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { OVERRUN_ACCOUNT, OVERRUN_CEILING } from '../decide.ts';
import type { Reclaim } from '../port.ts';
import { lossKey, paymentKey, returnedKey, reversalKey } from '../reclaim.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  hold,
  used,
  type ContractCheck,
  type LedgerHarness,
  type TestAccount,
} from './contract-harness.ts';

/** What taking money back promises, on either database. */
export function reclaimCases(check: ContractCheck): void {
  takingCases(check);
  invariantCases(check);
}

let made = 0;

/** The row of a refund, which is there before anything is booked for it. */
async function newRefund(harness: LedgerHarness, account: TestAccount, amount: number): Promise<Reclaim> {
  const id = `re_${++made}`;
  await harness.store.db
    .insertInto('payment_reversal')
    .values({ id, kind: 'refund', intent_id: `pi_${made}`, amount, stage: 0, created_at: 1 })
    .execute();
  const { id: accountId } = account;
  return { accountId, amount: nanoUsd(amount), once: reversalKey(id), cause: 'refund', actor: 'test' };
}

async function losses(harness: LedgerHarness) {
  return await harness.store.db
    .selectFrom('entry')
    .select(['amount', 'once'])
    .where('account_id', '=', OVERRUN_ACCOUNT)
    .execute();
}

function takingCases(check: ContractCheck): void {
  check(
    'what goes back to its payer leaves what requests hold, and the rest is the operator’s loss',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const request = chatAdmission(account);
      await hold(harness, request);
      const refund = await newRefund(harness, account, 9_000);
      expect(await harness.ledger().reclaim(refund)).toEqual({ taken: nanoUsd(7_900), lost: nanoUsd(1_100) });
      expect(await accountRow(harness, account)).toMatchObject({ balance: 2_100, held: 2_100 });
      expect(await losses(harness)).toEqual([{ amount: 1_100, once: lossKey(refund.once) }]);
      const settled = await harness.ledger().settle(request.requestId, used({ input: 100, output: 1_000 }));
      expect(settled).toMatchObject({ charged: 2_100 });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
  );

  check('the same amount is taken back once, however often and by how many at once', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const [small, large] = [
      await newRefund(harness, account, 4_000),
      await newRefund(harness, account, 20_000),
    ];
    const taken = await Promise.all(Array.from({ length: 10 }, () => harness.ledger().reclaim(small)));
    expect(new Set(taken.map((one) => JSON.stringify(one)))).toEqual(new Set(['{"taken":4000,"lost":0}']));
    for (let time = 0; time < 3; time++)
      expect(await harness.ledger().reclaim(large)).toEqual({ taken: nanoUsd(6_000), lost: nanoUsd(14_000) });
    await harness.crash();
    expect(await harness.ledger().reclaim(large)).toEqual({ taken: nanoUsd(6_000), lost: nanoUsd(14_000) });
    expect(await accountRow(harness, account)).toMatchObject({ balance: 0 });
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  check('an empty account gives nothing back, and all of it is a loss, once', async (harness) => {
    const account = await addAccount(harness);
    const refund = await newRefund(harness, account, 5_000);
    for (let time = 0; time < 2; time++)
      expect(await harness.ledger().reclaim(refund)).toEqual({ taken: nanoUsd(0), lost: nanoUsd(5_000) });
    expect(await losses(harness)).toHaveLength(1);
  });

  check('an account that is not there, or a loss beyond all bounds, changes nothing', async (harness) => {
    const account = await addAccount(harness, 10);
    const refund = await newRefund(harness, account, 5_000);
    const nobody = harness.ledger().reclaim({ ...refund, accountId: 'acc_nobody' as AccountId });
    expect(nobody).rejects.toMatchObject({ code: 'invalid_field', param: 'account' });
    const beyond = harness.ledger().reclaim({ ...refund, amount: nanoUsd(OVERRUN_CEILING + 11) });
    expect(beyond).rejects.toBeInstanceOf(Fault);
    await Promise.allSettled([nobody, beyond]);
    expect(await accountRow(harness, account)).toMatchObject({ balance: 10 });
    expect(await losses(harness)).toEqual([]);
  });
}

/** I9: rows of payments against entries. */
function invariantCases(check: ContractCheck): void {
  const breachesOf = async (harness: LedgerHarness) =>
    (await harness.ledger().verify()).breaches.map(({ invariant, subject }) => `${invariant} ${subject}`);

  check('a payment that is called paid without its credit is a breach', async (harness) => {
    const account = await addAccount(harness);
    await harness.store.db
      .insertInto('payment')
      .values({
        id: 'pay_1',
        account_id: account.id,
        kind: 'top_up',
        state: 'paid',
        amount: 5_000,
        intent_id: 'pi_x',
        created_at: 1,
      })
      .execute();
    expect(await breachesOf(harness)).toEqual(['I9 pay_1']);
    await harness.ledger().post({
      accountId: account.id,
      kind: 'credit',
      amount: 5_000,
      cause: 'top-up',
      actor: 'stripe',
      once: paymentKey('pi_x'),
    });
    expect(await breachesOf(harness)).toEqual([]);
  });

  check('a refund that is called booked and is not all taken or lost is a breach', async (harness) => {
    const account = await addAccount(harness, 3_000);
    const refund = await newRefund(harness, account, 5_000);
    const { taken, lost } = await harness.ledger().reclaim(refund);
    const id = refund.once.slice(reversalKey('').length);
    const row = harness.store.db.updateTable('payment_reversal').where('id', '=', id);
    await row.set({ account_id: account.id, taken, lost, booked_at: 1 }).execute();
    expect(await breachesOf(harness)).toEqual([]);
    await row.set({ lost: lost - 1 }).execute();
    expect(await breachesOf(harness)).toEqual([`I9 ${id}`]);
    await row.set({ lost, returned_at: 1 }).execute();
    expect(await breachesOf(harness)).toEqual([`I9 ${id}`]);
    const shared = { kind: 'adjustment', cause: 'came back', actor: 'stripe' } as const;
    const ledger = harness.ledger();
    await ledger.post({ ...shared, accountId: account.id, amount: taken, once: returnedKey(refund.once) });
    await ledger.post({
      ...shared,
      accountId: OVERRUN_ACCOUNT as AccountId,
      amount: 0 - lost,
      once: returnedKey(lossKey(refund.once)),
    });
    expect(await breachesOf(harness)).toEqual([]);
  });

  check('a loss that no refund or dispute explains is a breach', async (harness) => {
    const account = await addAccount(harness);
    const refund = await newRefund(harness, account, 5_000);
    await harness.ledger().reclaim(refund);
    await harness.store.db.deleteFrom('payment_reversal').execute();
    expect(await breachesOf(harness)).toEqual([expect.stringMatching(/^I9 entry \d+$/)]);
  });
}
