import { expect } from 'bun:test';
import type { RequestId } from '../../std/ids.ts';
import {
  accountRow,
  addAccount,
  hold,
  imageAdmission,
  nth,
  requestRow,
  used,
  type ContractCheck,
  type LedgerHarness,
  type TestAccount,
} from './contract-harness.ts';

/** Holds of jobs that another process can go on with. */
export function adoptionCases(check: ContractCheck): void {
  takeOverCases(check);
  endCases(check);
}

const HOUR_MS = 3_600_000;

interface JobOptions {
  readonly backend?: string | null;
  readonly backendJob?: string | null;
  readonly lifeMs?: number;
}

async function job(
  harness: LedgerHarness,
  account: TestAccount,
  { backend = 'b', backendJob = 'job-1', lifeMs = HOUR_MS }: JobOptions = {},
): Promise<RequestId> {
  const id = await hold(harness, imageAdmission(account, 2));
  const now = await harness.now();
  await harness.store.db
    .insertInto('image_job')
    .values({
      id,
      account_id: account.id,
      state: 'running',
      request: '{}',
      backend,
      backend_job: backendJob,
      deadline: now + lifeMs,
      created_at: now,
    })
    .execute();
  return id;
}

function takeOverCases(check: ContractCheck): void {
  check(
    'the hold of a job that its backend goes on with does not expire, and one of many adopts it',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const known = await job(harness, account);
      const unknown = await job(harness, account, { backend: null, backendJob: null });
      expect(await harness.ledger().adopt(known)).toBe(false);
      await harness.advance(harness.leaseMs + 1_000);
      expect(await harness.ledger().expire()).toBe(1);
      expect(await requestRow(harness, unknown)).toMatchObject({ state: 'void', charged: 0 });
      expect(await requestRow(harness, known)).toMatchObject({ state: 'pending', held: 2_000 });
      const adopted = await Promise.all(Array.from({ length: 5 }, () => harness.ledger().adopt(known)));
      expect(adopted.filter(Boolean)).toHaveLength(1);
      expect(await harness.ledger().settle(known, used({ images: 1 }))).toMatchObject({ charged: 1_000 });
      expect(await harness.ledger().adopt(known)).toBe(false);
      expect(await accountRow(harness, account)).toMatchObject({ balance: 9_000, held: 0, open_holds: 0 });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
  );

  check('a hold that was given up can be adopted at once, others not', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const [left, kept] = [await job(harness, account), await job(harness, account)];
    await harness.ledger().giveUp([left, 'req_unknown' as RequestId]);
    expect(await harness.ledger().expire()).toBe(0);
    expect([await harness.ledger().adopt(left), await harness.ledger().adopt(kept)]).toEqual([true, false]);
  });

  check('a crash leaves the holds of such jobs to be adopted, and closes all others', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const ids = [await job(harness, account), await hold(harness, imageAdmission(account, 1))];
    await harness.crash();
    await harness.advance(harness.leaseMs + 1_000);
    await harness.ledger().expire();
    expect(await requestRow(harness, nth(ids, 0))).toMatchObject({ state: 'pending' });
    expect(await requestRow(harness, nth(ids, 1))).toMatchObject({ state: 'void' });
    expect(await harness.ledger().adopt(nth(ids, 0))).toBe(true);
    expect(await harness.ledger().settle(nth(ids, 0), used({ images: 2 }))).toMatchObject({ charged: 2_000 });
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });
}

function endCases(check: ContractCheck): void {
  check(
    'what a backend was called for is left to be ended with its cost, in time or too late',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const called = await job(harness, account, { backendJob: null });
      const late = await job(harness, account, { lifeMs: harness.leaseMs });
      await harness.advance(harness.leaseMs + 5_000);
      expect(await harness.ledger().expire()).toBe(0);
      for (const id of [called, late]) expect(await harness.ledger().adopt(id)).toBe(true);
    },
  );

  check('a day past its deadline the hold of a job expires as any other', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await job(harness, account, { lifeMs: harness.leaseMs - 24 * HOUR_MS });
    await harness.advance(harness.leaseMs + 5_000);
    expect(await harness.ledger().expire()).toBe(1);
    expect(await requestRow(harness, id)).toMatchObject({ state: 'void', charged: 0, outcome: 'expired' });
    expect(await harness.ledger().adopt(id)).toBe(false);
    expect(await accountRow(harness, account)).toMatchObject({ balance: 10_000, held: 0, open_holds: 0 });
  });
}
