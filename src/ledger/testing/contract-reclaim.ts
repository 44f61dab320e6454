import { expect } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import type { AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { OVERRUN_ACCOUNT, OVERRUN_CEILING, removedEmail } from '../decide.ts';
import type { Reclaim, Reclaimed } from '../port.ts';
import { lossKey, paymentKey, returnedKey, reversalKey } from '../reclaim.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  credit,
  expectSound,
  FAILED,
  FREE,
  hold,
  refusal,
  used,
  type ContractCheck,
  type LedgerHarness,
  type TestAccount,
} from './contract-harness.ts';

/** What taking money back promises, on either database. */
export function reclaimCases(check: ContractCheck): void {
  takingCases(check);
  owedCases(check);
  endedDebtCases(check);
  removedAccountCases(check);
  invariantCases(check);
  refundedMoneyCases(check);
}

let made = 0;

/** The row of a refund, which is there before anything is booked for it. */
export async function newRefund(
  harness: LedgerHarness,
  account: Pick<TestAccount, 'id'>,
  amount: number,
): Promise<Reclaim> {
  const id = `re_${++made}`;
  await harness.store.db
    .insertInto('payment_reversal')
    .values({ id, kind: 'refund', intent_id: `pi_${made}`, amount, stage: 0, created_at: 1 })
    .execute();
  const { id: accountId } = account;
  return { accountId, amount: nanoUsd(amount), once: reversalKey(id), cause: 'refund', actor: 'test' };
}

/** Writes down what was done so far, as payments do after each call. */
export async function bookRefund(
  harness: LedgerHarness,
  { accountId, once }: Reclaim,
  { taken, lost, owed }: Reclaimed,
): Promise<void> {
  await harness.store.db
    .updateTable('payment_reversal')
    .set({ account_id: accountId, taken, lost, owed, booked_at: 1 })
    .where('id', '=', once.slice(reversalKey('').length))
    .execute();
}

const done = (taken: number, lost: number, owed = 0): Reclaimed => ({
  taken: nanoUsd(taken),
  lost: nanoUsd(lost),
  owed: nanoUsd(owed),
});

async function losses(harness: LedgerHarness) {
  return await harness.store.db
    .selectFrom('entry')
    .select(['amount', 'once'])
    .where('account_id', '=', OVERRUN_ACCOUNT)
    .execute();
}

function owedCases(check: ContractCheck): void {
  check(
    'what goes back while requests hold it is owed, and is a loss only as far as they used it',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const request = chatAdmission(account);
      await hold(harness, request);
      const refund = await newRefund(harness, account, 9_000);
      const booked = async (expected: Reclaimed): Promise<void> => {
        expect(await harness.ledger().reclaim(refund)).toEqual(expected);
        await bookRefund(harness, refund, expected);
        await expectSound(harness);
      };
      await booked(done(7_900, 0, 1_100));
      expect(await accountRow(harness, account)).toMatchObject({ balance: 2_100, held: 2_100, owed: 1_100 });
      await booked(done(7_900, 0, 1_100));
      const settled = await harness.ledger().settle(request.requestId, used({ input: 100, output: 600 }));
      expect(settled).toMatchObject({ charged: 1_300, available: 0 });
      await expectSound(harness);
      await booked(done(8_700, 300));
      expect(await accountRow(harness, account)).toMatchObject({ balance: 0, held: 0, owed: 0 });
      expect(await losses(harness)).toEqual([{ amount: 300, once: lossKey(refund.once) }]);
      await booked(done(8_700, 300));
    },
  );

  check(
    'an account that uses little of what it holds pays what it owes, and nothing is lost',
    async (harness) => {
      const account = await addAccount(harness, 2_100);
      const request = chatAdmission(account);
      await hold(harness, request);
      const refund = await newRefund(harness, account, 2_000);
      expect(await harness.ledger().reclaim(refund)).toEqual(done(0, 0, 2_000));
      await harness.ledger().settle(request.requestId, used({ output: 20 }));
      const next = refusal(await harness.ledger().admit(chatAdmission(account)));
      expect(next).toMatchObject({ reason: 'request_exceeds_balance', available: 60 });
      expect(await harness.ledger().reclaim(refund)).toEqual(done(2_000, 0));
      expect(await accountRow(harness, account)).toMatchObject({ balance: 60, owed: 0 });
      expect(await losses(harness)).toEqual([]);
      await expectSound(harness);
    },
  );

  check('what is owed cannot be spent, and a payment or a code pays it first', async (harness) => {
    const account = await addAccount(harness, 2_100);
    await hold(harness, chatAdmission(account));
    const refund = await newRefund(harness, account, 2_100);
    await harness.ledger().reclaim(refund);
    await credit(harness, account.id, 1_000);
    const short = refusal(await harness.ledger().admit(chatAdmission(account)));
    expect(short).toMatchObject({ reason: 'funds_on_hold', available: 0 });
    const more = { accountId: account.id, kind: 'adjustment', cause: 'test', actor: 'test' } as const;
    expect(harness.ledger().post({ ...more, amount: -1 })).rejects.toMatchObject({ code: 'invalid_field' });
    expect(await harness.ledger().reclaim(refund)).toEqual(done(0, 0, 2_100));
    await credit(harness, account.id, 1_600);
    expect(await harness.ledger().identify({ kind: 'account', id: account.id })).toMatchObject({
      owed: 2_100,
    });
    expect((await harness.ledger().admit(chatAdmission(account, { price: FREE }))).available).toBe(
      nanoUsd(500),
    );
    expect(await harness.ledger().reclaim(refund)).toEqual(done(2_100, 0));
    expect(await accountRow(harness, account)).toMatchObject({ balance: 2_600, held: 2_100, owed: 0 });
    await expectSound(harness);
  });
}

function endedDebtCases(check: ContractCheck): void {
  check('two refunds at once on what requests hold take it once, and the rest is lost', async (harness) => {
    const account = await addAccount(harness, 2_100);
    const request = chatAdmission(account);
    await hold(harness, request);
    const refunds = [await newRefund(harness, account, 1_500), await newRefund(harness, account, 1_500)];
    const both = () => Promise.all(refunds.map((refund) => harness.ledger().reclaim(refund)));
    expect(await both()).toEqual([done(0, 0, 1_500), done(0, 0, 1_500)]);
    await harness.ledger().void(request.requestId, FAILED);
    const [first, second] = await both();
    expect((first?.taken ?? 0) + (second?.taken ?? 0)).toBe(2_100);
    expect((first?.lost ?? 0) + (second?.lost ?? 0)).toBe(900);
    expect(await accountRow(harness, account)).toMatchObject({ balance: 0, owed: 0 });
    await expectSound(harness);
  });

  check('what comes back undoes what was taken, lost and owed, once', async (harness) => {
    const account = await addAccount(harness, 3_000);
    const request = chatAdmission(account);
    await hold(harness, request);
    const [owed, lost] = [await newRefund(harness, account, 2_500), await newRefund(harness, account, 700)];
    expect(await harness.ledger().giveBack(owed)).toBeUndefined();
    expect(await harness.ledger().reclaim(owed)).toEqual(done(900, 0, 1_600));
    for (let time = 0; time < 2; time++)
      expect(await harness.ledger().giveBack(owed)).toEqual({ taken: nanoUsd(900), lost: nanoUsd(0) });
    expect(await accountRow(harness, account)).toMatchObject({ balance: 3_000, held: 2_100, owed: 0 });
    expect(await harness.ledger().reclaim(owed)).toEqual(done(900, 0));
    await harness.ledger().settle(request.requestId, used({ input: 100, output: 1_000 }));
    await credit(harness, account.id, -500);
    expect(await harness.ledger().reclaim(lost)).toEqual(done(400, 300));
    for (let time = 0; time < 2; time++)
      expect(await harness.ledger().giveBack(lost)).toEqual({ taken: nanoUsd(400), lost: nanoUsd(300) });
    expect(await accountRow(harness, account)).toMatchObject({ balance: 400, owed: 0 });
    expect((await losses(harness)).map(({ amount }) => amount)).toEqual([300, -300]);
    await expectSound(harness);
  });
}

function takingCases(check: ContractCheck): void {
  check('the same amount is taken back once, however often and by how many at once', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const [small, large] = [
      await newRefund(harness, account, 4_000),
      await newRefund(harness, account, 20_000),
    ];
    const taken = await Promise.all(Array.from({ length: 10 }, () => harness.ledger().reclaim(small)));
    expect(new Set(taken.map((one) => JSON.stringify(one)))).toEqual(
      new Set(['{"taken":4000,"lost":0,"owed":0}']),
    );
    for (let time = 0; time < 3; time++)
      expect(await harness.ledger().reclaim(large)).toEqual(done(6_000, 14_000));
    await harness.crash();
    expect(await harness.ledger().reclaim(large)).toEqual(done(6_000, 14_000));
    expect(await accountRow(harness, account)).toMatchObject({ balance: 0 });
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  check('an empty account gives nothing back, and all of it is a loss, once', async (harness) => {
    const account = await addAccount(harness);
    const refund = await newRefund(harness, account, 5_000);
    for (let time = 0; time < 2; time++)
      expect(await harness.ledger().reclaim(refund)).toEqual(done(0, 5_000));
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

function removedAccountCases(check: ContractCheck): void {
  check(
    'an account that was removed is credited by nobody, and what was booked before stays',
    async (harness) => {
      const account = await addAccount(harness, 3_000);
      const ledger = harness.ledger();
      const refund = await newRefund(harness, account, 2_000);
      await ledger.reclaim(refund);
      const paid = {
        accountId: account.id,
        kind: 'credit',
        cause: 'paid',
        actor: 'test',
        once: 'paid',
      } as const;
      await ledger.post({ ...paid, amount: 500 });
      await credit(harness, account.id, -1_500);
      const code = {
        code_hash: 'hash',
        hint: 'x',
        batch: 'b',
        amount: 70,
        created_by: 'test',
        created_at: 1,
      };
      await harness.store.db.insertInto('redeem_code').values(code).execute();
      await harness.store.db
        .updateTable('account')
        .set({ email: removedEmail(account.id) })
        .where('id', '=', account.id)
        .execute();
      const refusedBookings = [
        () => ledger.post({ ...paid, amount: 500, once: 'paid later' }),
        () => ledger.redeem({ codeHash: 'hash', accountId: account.id, at: 1 }),
        () => ledger.giveBack(refund),
      ];
      for (const booking of refusedBookings)
        expect(await booking().catch((thrown: unknown) => thrown)).toMatchObject({
          code: 'invalid_field',
          param: 'account',
        });
      expect(await ledger.post({ ...paid, amount: 500 })).toMatchObject({ balance: nanoUsd(0) });
      expect(await accountRow(harness, account)).toMatchObject({ balance: 0 });
      await expectSound(harness);
    },
  );
}

async function breachesOf(harness: LedgerHarness): Promise<string[]> {
  const { breaches } = await harness.ledger().verify();
  return breaches.map(({ invariant, subject }) => `${invariant} ${subject}`);
}

/** I12: money that went back and could be spent. */
function refundedMoneyCases(check: ContractCheck): void {
  check('an account that can spend what it owes is a breach', async (harness) => {
    const account = await addAccount(harness, 2_100);
    await hold(harness, chatAdmission(account));
    const refund = await newRefund(harness, account, 2_000);
    await harness.ledger().reclaim(refund);
    await harness.store.db.updateTable('account').set({ owed: 1_999 }).where('id', '=', account.id).execute();
    for (const full of [true, false])
      expect((await harness.ledger().verify({ full })).breaches).toEqual([
        { invariant: 'I12', subject: account.id, detail: 'owes 1999, of refunds and disputes 2000' },
      ]);
  });

  check('a refund of a paid payment that was noted long ago and not booked is a breach', async (harness) => {
    const account = await addAccount(harness, 3_000);
    const refund = await newRefund(harness, account, 3_000);
    const { intent_id } = await harness.store.db
      .selectFrom('payment_reversal')
      .select('intent_id')
      .executeTakeFirstOrThrow();
    const paid = { kind: 'credit', amount: 3_000, cause: 'paid', actor: 'test' } as const;
    await harness.ledger().post({ ...paid, accountId: account.id, once: paymentKey(intent_id) });
    const payment = { id: 'pay_2', account_id: account.id, kind: 'top_up', state: 'paid' } as const;
    await harness.store.db
      .insertInto('payment')
      .values({ ...payment, amount: 3_000, intent_id, created_at: 1 })
      .execute();
    expect(await breachesOf(harness)).toEqual([`I12 ${account.id}`]);
    await bookRefund(harness, refund, await harness.ledger().reclaim(refund));
    expect(await breachesOf(harness)).toEqual([]);
  });
}

/** I9: rows of payments against entries. */
function invariantCases(check: ContractCheck): void {
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
