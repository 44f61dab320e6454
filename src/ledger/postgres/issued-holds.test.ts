import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { postgresHarness, type PostgresHarness } from '../../../test/support/postgres-ledger.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  imageAdmission,
  FAILED,
  hold,
  requestRow,
  TOKEN_PRICE,
  used,
  type TestAccount,
} from '../testing/contract-harness.ts';
import { makeLog } from '../../std/log.ts';
import { OVERRUN_ACCOUNT } from '../decide.ts';
import { RESTORE, restoreValues } from './issued-holds.ts';

const DEADLINE_MS = 60_000;

describe('a hold that a crash of the database lost', () => {
  let harness: PostgresHarness;
  const logged: string[] = [];
  beforeAll(async () => {
    harness = await postgresHarness(makeLog((line) => logged.push(line)));
  }, DEADLINE_MS);
  afterAll(() => harness.close(), DEADLINE_MS);

  /** As if the transactions that made them had never been. */
  async function loseHolds({ id }: TestAccount): Promise<void> {
    await harness.backend.pool.query('DELETE FROM hold WHERE account_id = $1', [id]);
    await harness.backend.pool.query('UPDATE account SET held = 0, open_holds = 0 WHERE id = $1', [id]);
  }

  test('is charged all the same, once, by the node that ran the request, with a whole receipt', async () => {
    const account = await addAccount(harness, 10_000);
    const request = chatAdmission(account, { stream: true, client: 'a client' });
    const requestId = await hold(harness, request);
    await loseHolds(account);
    for (let turn = 0; turn < 2; turn++) {
      expect(await harness.ledger().settle(requestId, used({ input: 10, output: 50 }))).toMatchObject({
        state: 'posted',
        charged: 110,
        held: 2_100,
        overrun: 0,
        available: 9_890,
      });
    }
    expect(await accountRow(harness, account)).toMatchObject({ balance: 9_890, held: 0, open_holds: 0 });
    expect(await requestRow(harness, requestId)).toMatchObject({
      stream: 1,
      client: 'a client',
      output_cap: 1_000,
      output_tokens: 50,
    });
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  test('among others that were not lost: each is closed as it should be', async () => {
    const account = await addAccount(harness, 100_000);
    const lost = await Promise.all([
      hold(harness, chatAdmission(account)),
      hold(harness, imageAdmission(account, 2)),
      hold(harness, chatAdmission(account)),
    ]);
    await loseHolds(account);
    const kept = await hold(harness, chatAdmission(account));
    const [chat, images, failed, other] = await Promise.all([
      harness.ledger().settle(lost[0], used({ output: 10 })),
      harness.ledger().settle(lost[1], used({ images: 2 })),
      harness.ledger().void(lost[2], FAILED),
      harness.ledger().settle(kept, used({ output: 1 })),
    ]);
    expect([chat, images, failed, other].map(({ state, charged }) => `${state} ${charged}`)).toEqual([
      'posted 20',
      'posted 2000',
      'void 0',
      'posted 2',
    ]);
    expect(await accountRow(harness, account)).toMatchObject({ balance: 97_978, held: 0, open_holds: 0 });
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  test('whose money was spent meanwhile takes what is left, and the rest is the operator’s loss', async () => {
    const account = await addAccount(harness, 2_100);
    const lost = await hold(harness, chatAdmission(account));
    await loseHolds(account);
    const later = await hold(harness, chatAdmission(account));
    await harness.ledger().settle(later, used({ output: 1_000 }));
    const before = await lossOf(harness);
    expect(await harness.ledger().settle(lost, used({ output: 1_000 }))).toMatchObject({
      state: 'posted',
      charged: 100,
      overrun: 1_900,
      available: 0,
    });
    expect((await lossOf(harness)) - before).toBe(1_900);
    const told = logged.filter((line) => line.includes('"overrun"'));
    expect(told).toEqual([expect.stringContaining(`"overrunNanoUsd":1900`) as string]);
    expect(told[0]).toContain(lost);
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  test('is nobody’s once it has been closed: a hold that never was is still unknown', async () => {
    const account = await addAccount(harness, 10_000);
    const requestId = await hold(harness, chatAdmission(account));
    await harness.ledger().void(requestId, FAILED);
    await harness.backend.pool.query(`BEGIN; SET LOCAL session_replication_role = replica;
      DELETE FROM receipt WHERE id = '${requestId}'; COMMIT`);
    expect(harness.ledger().settle(requestId, used({ output: 1 }))).rejects.toMatchObject({
      code: 'internal_error',
    });
    await harness.backend.pool.query(`DELETE FROM usage_day WHERE account_id = $1`, [account.id]);
  });

  test('is restored by what it says, not by numbers that the crash may have lost with it', async () => {
    const account = await addAccount(harness, 10_000);
    const price = { ...TOKEN_PRICE, output: 3_000_000 };
    const lost = await hold(harness, chatAdmission(account, { model: 'rare', price }));
    await loseHolds(account);
    await harness.backend.pool.query(`DELETE FROM price WHERE value = $1`, [JSON.stringify(price)]);
    await harness.backend.pool.query(`DELETE FROM route WHERE model = 'rare'`);
    expect(await harness.ledger().settle(lost, used({ output: 10 }))).toMatchObject({ charged: 30 });
    const row = await requestRow(harness, lost);
    expect(row).toMatchObject({ model: 'rare', kind: 'chat', node: 'life-1', price: JSON.stringify(price) });
    // The next admission asks for the numbers again instead of using what it remembers.
    const next = await hold(harness, chatAdmission(account, { model: 'rare', price }));
    expect(await requestRow(harness, next)).toMatchObject({ model: 'rare', price: JSON.stringify(price) });
    await harness.ledger().void(next, FAILED);
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  test('is not written again beside the receipt of somebody who closed it meanwhile', async () => {
    const account = await addAccount(harness, 10_000);
    const request = chatAdmission(account);
    const admission = await harness.ledger().admit(request);
    if (admission.kind !== 'admitted') throw new Error(admission.reason);
    await harness.ledger().settle(request.requestId, used({ output: 10 }));
    const issued = { request, admission, nowMs: await harness.now() };
    const { name, text } = RESTORE;
    const values = restoreValues([issued], { node: 'life-1', leaseMs: harness.leaseMs });
    await harness.backend.pool.query({ name, text, values });
    expect(await requestRow(harness, request.requestId)).toMatchObject({ state: 'posted', charged: 20 });
    expect(await accountRow(harness, account)).toMatchObject({ balance: 9_980, held: 0, open_holds: 0 });
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });
});

async function lossOf({ store }: PostgresHarness): Promise<number> {
  const { balance } = await store.db
    .selectFrom('account')
    .select('balance')
    .where('id', '=', OVERRUN_ACCOUNT)
    .executeTakeFirstOrThrow();
  return balance;
}
