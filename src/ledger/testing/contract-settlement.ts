import { expect } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import { newRequestId, type RequestId } from '../../std/ids.ts';
import { nanoUsd, ZERO } from '../../std/money.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  imageAdmission,
  FAILED,
  hold,
  requestRow,
  used,
  type ContractCheck,
  type LedgerHarness,
} from './contract-harness.ts';
import { NO_USAGE, type Usage } from '../price.ts';
import { attemptsOf } from '../receipt.ts';
import { OVERRUN_ACCOUNT } from '../decide.ts';

/** How a hold ends: posted or void, once. */
export function settlementCases(check: ContractCheck): void {
  chargeCases(check);
  boundCases(check);
  writtenOnceCases(check);
  onceCases(check);
  hostileCases(check);
}

function chargeCases(check: ContractCheck): void {
  check(
    'the charge is price × usage, the rest of the hold is free again, and the receipt says it all',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const id = await hold(harness, chatAdmission(account));
      const settled = await harness.ledger().settle(
        id,
        used(
          { input: 90, cached: 40, output: 11, reasoning: 4 },
          {
            upstream: 'house',
            finishReason: 'stop',
            firstByteMs: 2,
            attempts: [
              { upstream: 'a', result: 'failed', reason: 'http_500', durationMs: 1 },
              { upstream: 'house', result: 'served', durationMs: 4 },
            ],
          },
        ),
      );
      // 50 fresh + 40 cached at half price + 11 × 2.
      expect(settled).toEqual({
        state: 'posted',
        charged: nanoUsd(92),
        held: nanoUsd(2_100),
        overrun: ZERO,
        available: nanoUsd(9_908),
      });
      expect(await accountRow(harness, account)).toMatchObject({
        balance: 9_908,
        held: 0,
        open_holds: 0,
        month_spent: 92,
      });
      const row = await requestRow(harness, id);
      expect(row).toMatchObject({
        state: 'posted',
        charged: 92,
        overrun: 0,
        usage_source: 'upstream',
        outcome: 'completed',
      });
      expect(row).toMatchObject({
        input_tokens: 90,
        cached_tokens: 40,
        output_tokens: 11,
        reasoning_tokens: 4,
        images: 0,
      });
      expect(row).toMatchObject({
        upstream: 'house',
        finish_reason: 'stop',
        first_byte_ms: 2,
        duration_ms: 5,
        error_code: null,
      });
      expect(attemptsOf(row)).toMatchObject([{ upstream: 'a', reason: 'http_500' }, { result: 'served' }]);
      expect(await chargesOf(harness)).toMatchObject([
        { id, account_id: account.id, charged: 92, endpoint: 'partner_chat', model: 'm' },
      ]);
    },
  );
}

function boundCases(check: ContractCheck): void {
  check('a fraction of a nano-dollar is rounded up, once', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, chatAdmission(account));
    expect((await harness.ledger().settle(id, used({ input: 3, cached: 3, output: 1 }))).charged).toBe(
      nanoUsd(4),
    );
  });

  check(
    'a backend that used more than the hold is the operator’s loss, never the account’s',
    async (harness) => {
      const account = await addAccount(harness, 2_100);
      const id = await hold(harness, chatAdmission(account));
      const settled = await harness.ledger().settle(id, used({ input: 100, output: 10_000 }));
      expect(settled).toMatchObject({ charged: nanoUsd(2_100), overrun: nanoUsd(18_000), available: ZERO });
      expect(await accountRow(harness, account)).toMatchObject({ balance: 0, held: 0 });
      const losses = await harness.store.db
        .selectFrom('entry')
        .selectAll()
        .where('kind', '=', 'overrun')
        .execute();
      expect(losses).toMatchObject([{ account_id: OVERRUN_ACCOUNT, amount: 18_000, request_id: id }]);
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
  );

  check('partial images are charged for what was delivered', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, imageAdmission(account, 4));
    expect((await harness.ledger().settle(id, used({ images: 2 }))).charged).toBe(nanoUsd(2_000));
    expect(await requestRow(harness, id)).toMatchObject({ images: 2, choices: 4, kind: 'images' });
  });

  check('a void charges nothing, frees the hold and keeps what happened', async (harness) => {
    const account = await addAccount(harness, 2_100);
    const id = await hold(harness, chatAdmission(account));
    expect(await harness.ledger().void(id, FAILED)).toMatchObject({
      state: 'void',
      charged: ZERO,
      available: nanoUsd(2_100),
    });
    expect(await requestRow(harness, id)).toMatchObject({
      state: 'void',
      outcome: 'upstream_failed',
      error_code: 'upstream_error',
    });
    expect(await chargesOf(harness)).toEqual([]);
  });
}

function writtenOnceCases(check: ContractCheck): void {
  check('a receipt is written once: the database itself refuses to change or remove it', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, chatAdmission(account));
    await harness.ledger().settle(id, used({ output: 10 }));
    const { db } = harness.store;
    expect(db.updateTable('receipt').set({ charged: 0 }).execute()).rejects.toThrow(/append-only/);
    expect(db.deleteFrom('receipt').execute()).rejects.toThrow(/append-only/);
    expect(await requestRow(harness, id)).toMatchObject({ state: 'posted', charged: 20 });
    expect(await db.selectFrom('hold').selectAll().execute()).toEqual([]);
  });

  check('what a client calls itself is kept, but no more of it than 200 characters', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, chatAdmission(account, { client: 'x'.repeat(5_000) }));
    await harness.ledger().settle(id, used({ output: 10 }));
    expect((await requestRow(harness, id)).client).toBe('x'.repeat(200));
  });
}

function onceCases(check: ContractCheck): void {
  check('a second settlement or void returns what happened first and changes nothing', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const settledId = await hold(harness, chatAdmission(account));
    const first = await harness.ledger().settle(settledId, used({ output: 10 }));
    expect(await harness.ledger().settle(settledId, used({ output: 500 }))).toEqual(first);
    expect(await harness.ledger().void(settledId, FAILED)).toEqual(first);
    const voidId = await hold(harness, chatAdmission(account));
    const voided = await harness.ledger().void(voidId, FAILED);
    expect(await harness.ledger().settle(voidId, used({ output: 10 }))).toEqual(voided);
    expect(await accountRow(harness, account)).toMatchObject({ balance: 9_980, held: 0, open_holds: 0 });
  });

  check('of many concurrent closings of one hold, one wins and all get the same result', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, chatAdmission(account));
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 3 === 0 ? harness.ledger().void(id, FAILED) : harness.ledger().settle(id, used({ output: n })),
      ),
    );
    expect(new Set(results.map((result) => `${result.state} ${result.charged}`)).size).toBe(1);
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  check('closing a hold that does not exist is a fault, not a charge', async (harness) => {
    expect(harness.ledger().settle('req_none' as RequestId, used({ output: 1 }))).rejects.toBeInstanceOf(
      Fault,
    );
    expect(harness.ledger().void('req_none' as RequestId, FAILED)).rejects.toBeInstanceOf(Fault);
  });
}

const HOSTILE: readonly Partial<Usage>[] = [
  { output: -1 },
  { input: Number.NaN },
  { output: Number.POSITIVE_INFINITY },
  { output: 1.5 },
  { input: 2 ** 53 },
  { input: 5, cached: 6 },
  { images: -3 },
  { reasoning: -1 },
];

function hostileCases(check: ContractCheck): void {
  check('numbers that are no counts are a fault and leave the hold as it was', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, chatAdmission(account));
    for (const usage of HOSTILE) {
      expect(harness.ledger().settle(id, used(usage))).rejects.toBeInstanceOf(Fault);
    }
    expect(await accountRow(harness, account)).toMatchObject({
      balance: 10_000,
      held: 2_100,
      open_holds: 1,
    });
    expect((await harness.ledger().settle(id, used({ output: 1 }))).charged).toBe(nanoUsd(2));
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  check('closing a request that never was is our mistake, and says which one it was', async (harness) => {
    const id = newRequestId(Date.now());
    for (const close of [
      harness.ledger().settle(id, used({ output: 1 })),
      harness.ledger().void(id, FAILED),
    ]) {
      const thrown = await close.catch((error: unknown) => error);
      expect(thrown).toMatchObject({ code: 'internal_error', detail: `no hold ${id}` });
    }
  });

  check(
    'a meter that makes no sense keeps its last good reading, and its lease is renewed all the same',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const id = await hold(harness, chatAdmission(account));
      await harness.ledger().renew([{ requestId: id, delivered: { ...NO_USAGE, input: 10, output: 5 } }]);
      await harness.advance(harness.leaseMs - 10_000);
      await harness.ledger().renew([{ requestId: id, delivered: { ...NO_USAGE, output: Number.NaN } }]);
      await harness.advance(20_000);
      expect(await harness.ledger().expire()).toBe(0);
      expect(await requestRow(harness, id)).toMatchObject({
        state: 'pending',
        input_tokens: 10,
        output_tokens: 5,
      });
    },
  );
}

function chargesOf(harness: LedgerHarness) {
  return harness.store.db
    .selectFrom('request')
    .select(['id', 'account_id', 'charged', 'endpoint', 'model'])
    .where('state', 'in', ['posted', 'expired'])
    .execute();
}
