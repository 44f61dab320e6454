import { afterEach, beforeEach, expect, test } from 'bun:test';
import {
  addAccount,
  chatAdmission,
  FAILED,
  hold,
  refusal,
  used,
  type TestAccount,
} from '../testing/contract-harness.ts';
import { sqliteHarness, type SqliteHarness } from '../testing/sqlite-harness.ts';

/** Requests on both sides of midnight, and of the turn of a month, that are closed together. */

const HOUR_MS = 3_600_000;
let harness: SqliteHarness;
beforeEach(async () => {
  harness = await sqliteHarness();
});
afterEach(async () => {
  expect((await harness.ledger().verify()).breaches).toEqual([]);
  await harness.close();
});

async function sums(account: string) {
  return await harness.store.db
    .selectFrom('usage_day')
    .selectAll()
    .where('account_id', '=', account)
    .orderBy('day')
    .orderBy('model')
    .execute();
}

test('each request counts on the day it began, for its account and for all, however they are closed together', async () => {
  const [one, two] = [await addAccount(harness, 1_000_000), await addAccount(harness, 1_000_000)];
  // The clock starts at noon: one millisecond before midnight, midnight, and a day later.
  await harness.advance(12 * HOUR_MS - 1);
  const before = await hold(harness, chatAdmission(one));
  await harness.advance(1);
  const at = await hold(harness, chatAdmission(one));
  const other = await hold(harness, chatAdmission(two));
  await harness.advance(24 * HOUR_MS - 1);
  const late = await hold(harness, chatAdmission(one, { model: 'n' }));
  const ledger = harness.ledger();
  await Promise.all([
    ledger.settle(at, used({ input: 10, cached: 4, output: 20, reasoning: 3 })),
    ledger.settle(before, used({ output: 1 })),
    ledger.void(late, FAILED),
    ledger.settle(other, used({ output: 5 }, { outcome: 'client_left' })),
  ]);
  const own = await sums(one.id);
  expect(own).toMatchObject([
    { requests: 1, failures: 0, output_tokens: 1, charged: 2, model: 'm' },
    {
      requests: 1,
      failures: 0,
      input_tokens: 10,
      cached_tokens: 4,
      output_tokens: 20,
      reasoning_tokens: 3,
      charged: 48,
      model: 'm',
    },
    { requests: 1, failures: 1, output_tokens: 0, charged: 0, model: 'n' },
  ]);
  const [first, second, third] = own.map(({ day }) => day);
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  expect(await sums('')).toMatchObject([
    { day: first, requests: 1, charged: 2 },
    { day: second, requests: 2, charged: 58, output_tokens: 25, failures: 0, model: 'm' },
    { day: second, requests: 1, charged: 0, failures: 1, model: 'n' },
  ]);
});

test('a monthly limit that is used up is whole again with the new month, without anybody writing to the store', async () => {
  const account = await addAccount(harness, 1_000_000);
  await setMonthlyLimit(account, 4_000);
  const ledger = harness.ledger();
  const spend = async () => {
    await ledger.settle(await hold(harness, chatAdmission(account)), used({ output: 1_000 }));
  };
  await spend();
  await spend();
  expect(refusal(await ledger.admit(chatAdmission(account)))).toMatchObject({ reason: 'limit_reached' });
  expect(await ledger.identify({ kind: 'account', id: account.id })).toMatchObject({ monthSpent: 4_000 });
  await harness.advance(32 * 24 * HOUR_MS);
  expect(await ledger.identify({ kind: 'account', id: account.id })).toMatchObject({ monthSpent: 0 });
  await spend();
  expect(await ledger.identify({ kind: 'account', id: account.id })).toMatchObject({ monthSpent: 2_000 });
});

test('a token that was replaced and a limit that was lowered elsewhere count for the very next request', async () => {
  const account = await addAccount(harness, 1_000_000);
  const ledger = harness.ledger();
  await hold(harness, chatAdmission(account));
  await setMonthlyLimit(account, 1);
  expect(refusal(await ledger.admit(chatAdmission(account)))).toMatchObject({ reason: 'limit_reached' });
  await harness.store.db
    .updateTable('account')
    .set({ token_hash: 'another' })
    .where('id', '=', account.id)
    .execute();
  expect(refusal(await ledger.admit(chatAdmission(account)))).toMatchObject({ reason: 'invalid_token' });
});

test('hundreds of leases are renewed, and hundreds of holds expire, in one call', async () => {
  const account = await addAccount(harness, 10_000_000);
  const ledger = harness.ledger();
  const ids = await Promise.all(Array.from({ length: 1_001 }, () => hold(harness, chatAdmission(account))));
  await harness.advance(harness.leaseMs - 1);
  const delivered = { input: 1, cached: 0, output: 1, reasoning: 0, images: 0 };
  await ledger.renew(ids.slice(0, 1_000).map((requestId) => ({ requestId, delivered })));
  await harness.advance(2);
  expect(await ledger.expire()).toBe(1);
  await harness.advance(harness.leaseMs);
  expect(await ledger.expire()).toBe(1_000);
  expect(await ledger.expire()).toBe(0);
  expect(await ledger.identify({ kind: 'account', id: account.id })).toMatchObject({
    balance: 10_000_000 - 3_000,
    held: 0,
    openHolds: 0,
  });
});

async function setMonthlyLimit({ id }: TestAccount, limit: number): Promise<void> {
  await harness.store.db.updateTable('account').set({ monthly_limit: limit }).where('id', '=', id).execute();
}
