import { afterEach, beforeEach, expect, test } from 'bun:test';
import { newRequestId } from '../../std/ids.ts';
import { PROMPT_MS } from '../../store/receipt-codes.ts';
import { addAccount, chatAdmission, hold, used } from '../testing/contract-harness.ts';
import { sqliteHarness, type SqliteHarness } from '../testing/sqlite-harness.ts';

/** Receipts that are not booked about when their id was made are marked, so that lists by booking time find them. */

let harness: SqliteHarness;
beforeEach(async () => {
  harness = await sqliteHarness();
});
afterEach(() => harness.close());

test.each([
  ['in the same millisecond', 0, 0],
  ['in the last moment that is prompt', PROMPT_MS, 0],
  ['later than that', PROMPT_MS + 1, 1],
  ['before its id was made, by another clock', -1, 1],
])('a request that is closed %s', async (_, afterMs, late) => {
  const account = await addAccount(harness, 100_000);
  const requestId = newRequestId((await harness.now()) - afterMs);
  await hold(harness, chatAdmission(account, { requestId }));
  await harness.ledger().settle(requestId, used({ output: 1 }));
  const receipt = await harness.store.db
    .selectFrom('receipt')
    .select('late')
    .where('id', '=', requestId)
    .executeTakeFirstOrThrow();
  expect(receipt.late).toBe(late);
});
