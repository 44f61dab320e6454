import { expect } from 'bun:test';
import { dayOf } from '../../std/calendar.ts';
import type { RequestId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  FAILED,
  hold,
  nth,
  requestRow,
  used,
  type ContractCheck,
  type LedgerHarness,
} from './contract-harness.ts';
import { NO_USAGE } from '../price.ts';

/** What becomes of holds whose owner is gone, and of the sums over closed requests. */
export function expiryCases(check: ContractCheck): void {
  leaseCases(check);
  survivalCases(check);
  rollupCases(check);
  backendCases(check);
}

function leaseCases(check: ContractCheck): void {
  check(
    'a hold that is not renewed is charged for what was delivered, or voided if that is nothing, and the rest is a possible cost',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const [silent, metered, alive] = [
        await hold(harness, chatAdmission(account)),
        await hold(harness, chatAdmission(account)),
        await hold(harness, chatAdmission(account)),
      ];
      await harness
        .ledger()
        .renew([{ requestId: metered, delivered: { ...NO_USAGE, input: 100, output: 30 } }]);
      expect(await harness.ledger().expire()).toBe(0);
      await harness.advance(harness.leaseMs - 5_000);
      await harness.ledger().renew([{ requestId: alive, delivered: NO_USAGE }]);
      await harness.advance(10_000);
      expect(await harness.ledger().expire()).toBe(2);
      expect(await harness.ledger().expire()).toBe(0);
      expect(await requestRow(harness, silent)).toMatchObject({
        state: 'void',
        charged: 0,
        outcome: 'expired',
        possible_cost: 2_100,
      });
      const expired = await requestRow(harness, metered);
      expect(expired).toMatchObject({
        state: 'expired',
        charged: 160,
        possible_cost: 1_940,
        outcome: 'expired',
        usage_source: 'counted',
      });
      // A real clock may have gone on meanwhile.
      expect(expired.duration_ms).toBeGreaterThanOrEqual(harness.leaseMs + 5_000);
      expect(expired.duration_ms).toBeLessThan(harness.leaseMs + 65_000);
      expect(await requestRow(harness, alive)).toMatchObject({ state: 'pending' });
      expect(await accountRow(harness, account)).toMatchObject({
        balance: 9_840,
        held: 2_100,
        open_holds: 1,
      });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
  );

  check('a settlement that comes after the lease ran out changes nothing more', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, chatAdmission(account));
    await harness.ledger().renew([{ requestId: id, delivered: { ...NO_USAGE, output: 5 } }]);
    await harness.advance(harness.leaseMs + 1_000);
    expect(await harness.ledger().expire()).toBe(1);
    const late = await harness.ledger().settle(id, used({ output: 500 }));
    expect(late).toMatchObject({ state: 'expired', charged: nanoUsd(10), available: nanoUsd(9_990) });
    expect(await harness.ledger().void(id, FAILED)).toEqual(late);
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });
}

function survivalCases(check: ContractCheck): void {
  check(
    'renewing what is closed changes nothing and tells it; what is unknown is ignored',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const id = await hold(harness, chatAdmission(account));
      await harness.ledger().settle(id, used({ output: 7 }));
      const open = await hold(harness, chatAdmission(account));
      const closed = await harness.ledger().renew([
        { requestId: id, delivered: { ...NO_USAGE, output: 900 } },
        { requestId: 'req_none' as RequestId, delivered: NO_USAGE },
        { requestId: open, delivered: NO_USAGE },
      ]);
      expect(closed).toEqual([id]);
      expect(await harness.ledger().renew([])).toEqual([]);
      expect(await requestRow(harness, id)).toMatchObject({ state: 'posted', output_tokens: 7, charged: 14 });
    },
  );

  check('a crash leaks no hold and charges what was delivered, once', async (harness) => {
    const account = await addAccount(harness, 100_000);
    const ids = await Promise.all(Array.from({ length: 20 }, () => hold(harness, chatAdmission(account))));
    await harness.ledger().settle(nth(ids, 0), used({ output: 100 }));
    await harness.ledger().renew([{ requestId: nth(ids, 1), delivered: { ...NO_USAGE, output: 50 } }]);
    await harness.crash();
    await harness.advance(harness.leaseMs + 1_000);
    await harness.ledger().expire();
    expect(await accountRow(harness, account)).toMatchObject({
      balance: 100_000 - 200 - 100,
      held: 0,
      open_holds: 0,
    });
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });
}

function rollupCases(check: ContractCheck): void {
  check('the sums of the day equal the requests they sum up, per account and over all', async (harness) => {
    const accounts = [await addAccount(harness, 100_000), await addAccount(harness, 100_000)];
    for (const [round, model] of ['a', 'b', 'a', 'c'].entries()) {
      for (const account of accounts) {
        const ids = await Promise.all([1, 2, 3].map(() => hold(harness, chatAdmission(account, { model }))));
        await Promise.all([
          harness.ledger().settle(nth(ids, 0), used({ input: 10, cached: 3, output: round, reasoning: 1 })),
          harness
            .ledger()
            .settle(nth(ids, 1), used({ output: 2 }, { outcome: 'client_left', source: 'counted' })),
          harness.ledger().void(nth(ids, 2), FAILED),
        ]);
      }
      await harness.advance(13 * 3_600_000);
    }
    const expected = await expectedSums(harness);
    const sums = await harness.store.db
      .selectFrom('usage_day')
      .selectAll()
      .orderBy('account_id')
      .orderBy('day')
      .orderBy('model')
      .execute();
    expect(sums).toEqual(expected);
    expect(new Set(sums.map((sum) => sum.day)).size).toBeGreaterThan(1);
  });
}

function backendCases(check: ContractCheck): void {
  check(
    'the sums of the day per backend and model count requests, failures, charges and how long they took',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      const took = [0, 500, 501, 2_000, 9_999.6, 60_000, 60_001, 3_600_000];
      await Promise.all(
        took.map(async (durationMs) => {
          const id = await hold(harness, chatAdmission(account));
          await harness.ledger().settle(id, used({ output: 5 }, { durationMs, upstream: 'one' }));
        }),
      );
      const [failed, unserved, other] = [
        await hold(harness, chatAdmission(account)),
        await hold(harness, chatAdmission(account)),
        await hold(harness, chatAdmission(account, { model: 'n' })),
      ];
      await harness.ledger().void(failed, { ...FAILED, upstream: 'one' });
      await harness.ledger().void(unserved, FAILED);
      await harness.ledger().settle(other, used({ output: 1 }, { upstream: 'two', outcome: 'client_left' }));
      const day = dayOf(await harness.now());
      const rows = await harness.store.db.selectFrom('backend_day').selectAll().orderBy('backend').execute();
      const none = {
        to_500ms: 0,
        to_2s: 0,
        to_10s: 0,
        to_60s: 0,
        longer: 0,
        cost: 0,
        possible_cost: 0,
        costed: 0,
        day,
      };
      expect(rows).toEqual([
        { ...none, backend: '', model: 'm', requests: 1, failures: 1, charged: 0, to_500ms: 1 },
        {
          ...none,
          backend: 'one',
          model: 'm',
          requests: 9,
          failures: 1,
          charged: 80,
          to_500ms: 3,
          to_2s: 2,
          to_10s: 1,
          to_60s: 1,
          longer: 2,
        },
        { ...none, backend: 'two', model: 'n', requests: 1, failures: 0, charged: 2, to_500ms: 1 },
      ]);
    },
  );
}

async function expectedSums(harness: LedgerHarness) {
  const requests = await harness.store.db.selectFrom('request').selectAll().execute();
  const sums = new Map<string, ReturnType<typeof emptySum>>();
  for (const request of requests) {
    const day = Number(new Date(request.created_at).toISOString().slice(0, 10).replaceAll('-', ''));
    for (const accountId of ['', request.account_id]) {
      const key = `${accountId} ${day} ${request.model}`;
      const sum = sums.get(key) ?? emptySum(accountId, day, request.model);
      sum.requests++;
      if (request.outcome === 'upstream_failed') sum.failures++;
      sum.input_tokens += request.input_tokens;
      sum.cached_tokens += request.cached_tokens;
      sum.output_tokens += request.output_tokens;
      sum.reasoning_tokens += request.reasoning_tokens;
      sum.charged += request.charged;
      sum.cost += request.cost ?? 0;
      sum.possible_cost += request.possible_cost;
      if (request.cost !== null) sum.costed += request.charged;
      // A cached token costs half a nano-USD less, and bills are rounded up.
      sum.saved += Math.floor(request.cached_tokens / 2);
      sums.set(key, sum);
    }
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

function emptySum(account_id: string, day: number, model: string) {
  const tokens = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0 };
  return {
    account_id,
    day,
    endpoint: 'partner_chat',
    model,
    requests: 0,
    failures: 0,
    ...tokens,
    images: 0,
    charged: 0,
    cost: 0,
    possible_cost: 0,
    costed: 0,
    saved: 0,
  };
}
