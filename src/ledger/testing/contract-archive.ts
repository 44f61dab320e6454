import { expect } from 'bun:test';
import { dayOf } from '../../std/calendar.ts';
import { newRequestId, type AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import type { Breach } from '../port.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  credit,
  FAILED,
  hold,
  used,
  type ContractCheck,
  type LedgerHarness,
  type TestAccount,
} from './contract-harness.ts';

const DAY_MS = 86_400_000;

/** Receipts that leave by whole days of an account, and the charge that stands for them. */
export function archiveCases(check: ContractCheck): void {
  leavingCases(check);
  oddCases(check);
  refusalCases(check);
  guardCases(check);
  retentionCases(check);
}

function leavingCases(check: ContractCheck): void {
  check(
    'a day that leaves is one charge of its sum; balance, sums, refunds and every invariant stay as they were',
    async (harness) => {
      const { account, day, ids } = await oldDay(harness);
      await harness.ledger().post({
        accountId: account.id,
        kind: 'refund',
        amount: 5,
        cause: 'sorry',
        actor: 'test',
        requestId: ids[0],
      });
      const before = await accountRow(harness, account);
      const sums = await sumsOf(harness);
      expect(await harness.ledger().archive({ accountId: account.id, day }, 2)).toEqual({
        kind: 'archived',
        requests: 6,
        charged: nanoUsd(2_180),
      });
      expect(await accountRow(harness, account)).toEqual(before);
      expect(await sumsOf(harness)).toEqual(sums);
      expect(await harness.store.db.selectFrom('receipt').selectAll().execute()).toEqual([]);
      const charges = await harness.store.db
        .selectFrom('entry')
        .selectAll()
        .where('kind', '=', 'charge')
        .execute();
      expect(charges).toMatchObject([
        {
          account_id: account.id,
          amount: -2_180,
          once: `archive:${account.id}:${day}`,
          request_id: null,
          actor: 'retention',
        },
      ]);
      expect(dayOf(charges[0]?.created_at ?? 0)).toBe(day);
      await expectNoBreach(harness);
    },
  );
}

function oddCases(check: ContractCheck): void {
  check(
    'a day leaves once, however many nodes let it go at once and beside running requests',
    async (harness) => {
      const { account, day } = await oldDay(harness);
      await credit(harness, account.id, 100_000);
      const [results] = await Promise.all([
        Promise.all([1, 2, 3, 250].map((n) => harness.ledger().archive({ accountId: account.id, day }, n))),
        ...Array.from({ length: 20 }, async () => {
          const id = await hold(harness, chatAdmission(account));
          await harness.ledger().settle(id, used({ output: 1 }));
        }),
      ]);
      expect(results.filter(({ kind }) => kind === 'archived')).toHaveLength(1);
      for (const result of results)
        if (result.kind === 'refused') expect(result.reason).toBe('archived_before');
      expect(await harness.store.db.selectFrom('receipt').select('id').execute()).toHaveLength(20);
      await expectNoBreach(harness);
    },
  );

  check('receipts whose ids were made by a wrong clock leave with their day', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const now = await harness.now();
    for (const days of [-400, -1, 0, 1, 30]) {
      const requestId = newRequestId(now + days * DAY_MS);
      await hold(harness, chatAdmission(account, { requestId }));
      await harness.ledger().settle(requestId, used({ output: 10 }));
    }
    await harness.advance(100 * DAY_MS);
    expect(await harness.ledger().archive({ accountId: account.id, day: dayOf(now) }, 2)).toMatchObject({
      requests: 5,
      charged: nanoUsd(100),
    });
    await expectNoBreach(harness);
  });
}

function refusalCases(check: ContractCheck): void {
  check('a day stays while a request of it is running, and leaves afterwards', async (harness) => {
    const { account, day, running } = await oldDay(harness, { keepOneRunning: true });
    const one = { accountId: account.id, day };
    expect(await harness.ledger().archive(one)).toEqual({ kind: 'refused', reason: 'open_hold' });
    expect(await harness.store.db.selectFrom('receipt').select('id').execute()).toHaveLength(6);
    if (running) await harness.ledger().settle(running, used({ output: 1 }));
    expect(await harness.ledger().archive(one)).toMatchObject({ kind: 'archived', requests: 7 });
    expect(await harness.ledger().archive(one)).toEqual({ kind: 'refused', reason: 'archived_before' });
    await expectNoBreach(harness);
  });

  check('a day that is not over stays, because further requests may come', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, chatAdmission(account));
    await harness.ledger().settle(id, used({ output: 1 }));
    const one = { accountId: account.id, day: dayOf(await harness.now()) };
    expect(await harness.ledger().archive(one)).toEqual({ kind: 'refused', reason: 'not_over' });
    await harness.advance(DAY_MS);
    expect(await harness.ledger().archive(one)).toMatchObject({ kind: 'archived', requests: 1 });
    await expectNoBreach(harness);
  });

  check('a day whose receipts are not what its sums say stays until somebody has looked', async (harness) => {
    const { account, day } = await oldDay(harness);
    await harness.corrupt(`UPDATE usage_day SET requests = requests + 1 WHERE account_id = '${account.id}'`);
    expect(await harness.ledger().archive({ accountId: account.id, day })).toEqual({
      kind: 'refused',
      reason: 'sums_differ',
    });
    expect(await harness.store.db.selectFrom('receipt').select('id').execute()).toHaveLength(6);
    expect(await harness.ledger().archive({ accountId: 'acc_nobody' as AccountId, day })).toEqual({
      kind: 'refused',
      reason: 'no_requests',
    });
  });
}

/** Each breaks one thing about a day that has left. */
const BREAKS: readonly (readonly [what: string, Breach['invariant'], sql: string])[] = [
  ['an archived day without its charge', 'I1', `DELETE FROM entry WHERE kind = 'charge'`],
  ['an archived day with another charge', 'I1', `UPDATE entry SET amount = amount - 1 WHERE kind = 'charge'`],
  ['an archived day with other sums', 'I1', `UPDATE archived_day SET requests = requests + 1`],
  ['a loss of the operator that left without its day', 'I4', `UPDATE archived_day SET overrun = overrun + 1`],
  [
    'a charge for no archived day',
    'I6',
    `INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
      VALUES ('acc_overrun', 'charge', -1, 'archive:acc_overrun:20200101', 'x', 'x', 1)`,
  ],
];

function guardCases(check: ContractCheck): void {
  check('no receipt leaves in any other way, and what has left stays as it was booked', async (harness) => {
    const { account, day } = await oldDay(harness);
    const { db } = harness.store;
    expect(await refusalOf(db.deleteFrom('receipt').execute())).toMatch(/append-only/);
    expect(await refusalOf(db.updateTable('receipt').set({ charged: 0 }).execute())).toMatch(/append-only/);
    await harness.ledger().archive({ accountId: account.id, day });
    expect(await refusalOf(db.updateTable('archived_day').set({ charged: 1 }).execute())).toMatch(
      /stays as it is/,
    );
    expect(await refusalOf(db.deleteFrom('archived_day').execute())).toMatch(/stays as it is/);
    const next = await hold(harness, chatAdmission(account));
    await harness.ledger().settle(next, used({ output: 1 }));
    expect(await refusalOf(db.deleteFrom('receipt').execute())).toMatch(/append-only/);
  });

  check('whoever deletes receipts of a day that is leaving, their sum is kept', async (harness) => {
    const { account, day, ids } = await oldDay(harness);
    const { db } = harness.store;
    await db.insertInto('archived_day').values({ account_id: account.id, day }).execute();
    await db.deleteFrom('receipt').where('id', 'in', ids.slice(0, 3)).execute();
    await expectNoBreach(harness);
    expect(await harness.ledger().archive({ accountId: account.id, day })).toMatchObject({ requests: 6 });
    await expectNoBreach(harness);
  });

  for (const [what, invariant, sql] of BREAKS) {
    check(`${what} is a breach of ${invariant}`, async (harness) => {
      const { account, day } = await oldDay(harness);
      await harness.ledger().archive({ accountId: account.id, day });
      await expectNoBreach(harness);
      await harness.corrupt(sql);
      for (const full of [false, true]) {
        const { breaches } = await harness.ledger().verify({ full });
        expect(breaches.map((breach) => breach.invariant)).toContain(invariant);
      }
    });
  }
}

function retentionCases(check: ContractCheck): void {
  check(
    'retention names the days before it, the oldest first, and keeps this month and the last whole',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      const start = await harness.now();
      for (let days = 0; days < 5; days++) {
        const id = await hold(harness, chatAdmission(account));
        await harness.ledger().settle(id, used({ output: 10 }));
        await harness.advance(20 * DAY_MS);
      }
      // 15 May, 4 and 24 June, 14 July, 3 August; now it is 23 August.
      const day = (number: number): number => dayOf(start + number * 20 * DAY_MS);
      const archivable = (keepDays: number, after?: { accountId: AccountId; day: number }) =>
        harness.ledger().archivable({ keepDays, after, limit: 10 });
      expect((await archivable(35)).map((one) => one.day)).toEqual([day(0), day(1), day(2)]);
      expect((await archivable(70)).map((one) => one.day)).toEqual([day(0), day(1)]);
      expect(await archivable(1_000)).toEqual([]);
      const [first, second] = await archivable(35);
      expect(first).toEqual({ accountId: account.id, day: day(0), requests: 1, charged: nanoUsd(20) });
      expect((await archivable(35, first)).map((one) => one.day)).toEqual([day(1), day(2)]);
      if (second) await harness.ledger().archive(second);
      expect((await archivable(35)).map((one) => one.day)).toEqual([day(0), day(2)]);
      await expectNoBreach(harness);
    },
  );
}

/** An account with requests of one day, a hundred days ago: charged, released, free of charge, beyond their hold. */
async function oldDay(harness: LedgerHarness, { keepOneRunning = false } = {}) {
  const account: TestAccount = await addAccount(harness, 10_000);
  const day = dayOf(await harness.now());
  const ids = [];
  for (const output of [10, 20, 0, 5_000, 10]) {
    const id = await hold(harness, chatAdmission(account));
    await harness.ledger().settle(id, used({ output }));
    ids.push(id);
  }
  const failed = await hold(harness, chatAdmission(account));
  await harness.ledger().void(failed, FAILED);
  const running = keepOneRunning ? await hold(harness, chatAdmission(account)) : undefined;
  await harness.advance(100 * DAY_MS);
  if (running) await harness.ledger().renew([{ requestId: running, delivered: used({}).usage }]);
  return { account, day, ids: [...ids, failed], running };
}

function sumsOf({ store }: LedgerHarness) {
  return store.db.selectFrom('usage_day').selectAll().orderBy('account_id').orderBy('day').execute();
}

async function expectNoBreach(harness: LedgerHarness): Promise<void> {
  for (const full of [false, true]) expect((await harness.ledger().verify({ full })).breaches).toEqual([]);
}

/** What the database says against a statement; empty when it says nothing. */
async function refusalOf(statement: Promise<unknown>): Promise<string> {
  return await statement.then(
    () => '',
    (thrown: unknown) => String(thrown),
  );
}
