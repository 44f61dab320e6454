import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { AccountId } from '../std/ids.ts';
import { MAX_BALANCE, nanoUsd } from '../std/money.ts';
import { creditWithin } from './credit.ts';
import { OVERRUN_ACCOUNT, removedEmail } from './decide.ts';
import { accountRow, addAccount } from './testing/contract-harness.ts';
import { sqliteHarness, type SqliteHarness } from './testing/sqlite-harness.ts';

/** A credit that is part of a larger transaction: it happens with all the rest, or not at all. */

let harness: SqliteHarness;
beforeEach(async () => {
  harness = await sqliteHarness();
});
afterEach(() => harness.close());

const credit = (accountId: string, amount: number, once = 'start') =>
  harness.store.db.transaction().execute((tx) =>
    creditWithin(tx, {
      accountId: accountId as AccountId,
      amount,
      once,
      cause: 'starting credit',
      actor: 'setup',
      now: 77,
    }),
  );
const entries = () =>
  harness.store.db.selectFrom('entry').selectAll().where('cause', '=', 'starting credit').execute();

test('an account that was removed gets nothing', async () => {
  const { id } = await addAccount(harness);
  await harness.store.db
    .updateTable('account')
    .set({ email: removedEmail(id) })
    .where('id', '=', id)
    .execute();
  expect(await credit(id, 500)).toBeUndefined();
  expect(await entries()).toEqual([]);
});

test('the balance grows by an entry that says why, and the books agree', async () => {
  const account = await addAccount(harness, 10);
  expect(await credit(account.id, 500)).toBe(nanoUsd(510));
  expect(await accountRow(harness, account)).toMatchObject({ balance: 510 });
  expect(await entries()).toMatchObject([
    { account_id: account.id, kind: 'credit', amount: 500, once: 'start', actor: 'setup', created_at: 77 },
  ]);
  expect((await harness.ledger().verify()).breaches).toEqual([]);
});

test('the largest balance is reached and not exceeded', async () => {
  const account = await addAccount(harness, 10);
  expect(await credit(account.id, MAX_BALANCE - 9)).toBeUndefined();
  expect(await entries()).toEqual([]);
  expect(await credit(account.id, MAX_BALANCE - 10)).toBe(MAX_BALANCE);
});

test('an account that does not exist, or is the system’s own, gets nothing', async () => {
  expect(await credit('acc_nobody', 5)).toBeUndefined();
  expect(await credit(OVERRUN_ACCOUNT, 5)).toBeUndefined();
  expect(await entries()).toEqual([]);
});

test('the same key a second time undoes its transaction', async () => {
  const account = await addAccount(harness);
  await credit(account.id, 5);
  expect(credit(account.id, 5)).rejects.toThrow();
  expect(await accountRow(harness, account)).toMatchObject({ balance: 5 });
});
