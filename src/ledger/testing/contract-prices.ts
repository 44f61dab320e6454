import { expect } from 'bun:test';
import { nanoUsd } from '../../std/money.ts';
import type { AdmissionRequest, Attempt } from '../port.ts';
import { NO_USAGE, type Price, type Usage } from '../price.ts';
import { receiptOf } from '../receipt.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  expectSound,
  hold,
  imageAdmission,
  requestRow,
  used,
  FAILED,
  type ContractCheck,
} from './contract-harness.ts';

/** Prices beyond plain tokens and images, which SQL does not compute, and what requests cost the operator. */
export function priceCases(check: ContractCheck): void {
  extraPriceCases(check);
  pictureCases(check);
  lostCases(check);
  costCases(check);
  savingCases(check);
  brokenSumCases(check);
}

/** Nano-USD: 1 for input, 10 for audio, 3 for a cache write; 5 for the request; all tokens double above 50. */
const RICH: Price = {
  kind: 'tokens',
  input: 1_000_000,
  cachedInput: 500_000,
  output: 2_000_000,
  extra: {
    cacheWrite: 3_000_000,
    audioInput: 10_000_000,
    request: nanoUsd(5),
    webSearch: nanoUsd(7),
    above: [{ above: 50, input: 2_000_000, output: 4_000_000 }],
    serviceTiers: { flex: 500_000 },
  },
};
const USAGE: Usage = {
  ...NO_USAGE,
  input: 40,
  output: 10,
  extra: { cacheWrite: 10, audioInput: 4, webSearches: 1 },
};
/** 26 × 1 + 10 × 3 + 4 × 10 + 10 × 2 + 7 + 5. */
const RICH_COST = 128;

function rich(account: Awaited<ReturnType<typeof addAccount>>, more: Partial<AdmissionRequest> = {}) {
  return chatAdmission(account, {
    price: RICH,
    ceiling: {
      kind: 'tokens',
      input: 40,
      output: 100,
      choices: 1,
      extra: { cacheWrite: true, audioInput: true, webSearches: 2 },
    },
    ...more,
  });
}

function extraPriceCases(check: ContractCheck): void {
  check('every dimension is held at its worst case and charged once', async (harness) => {
    const account = await addAccount(harness, 100_000);
    const request = rich(account);
    const admission = await harness.ledger().admit(request);
    // 40 × 10 + 100 × 2 + 2 × 7 + 5.
    expect(admission).toMatchObject({ kind: 'admitted', held: 619 });
    const settled = await harness.ledger().settle(request.requestId, used(USAGE));
    expect(settled).toMatchObject({ charged: RICH_COST, overrun: 0 });
    const receipt = receiptOf(await requestRow(harness, request.requestId));
    expect(receipt.total).toBe(nanoUsd(RICH_COST));
    expect(receipt.lines.map(({ item }) => item)).toEqual([
      'input',
      'cache_write',
      'audio_input',
      'output',
      'web_search',
      'request',
    ]);
    await expectSound(harness);
  });

  check(
    'a long input prices all tokens of its request, and the tier that answered counts',
    async (harness) => {
      const account = await addAccount(harness, 100_000);
      const ceiling = { kind: 'tokens', input: 60, output: 100, choices: 1 } as const;
      const request = rich(account, { ceiling });
      // 60 × 2 + 100 × 4 + 5.
      expect(await harness.ledger().admit(request)).toMatchObject({ held: 525 });
      const usage = { input: 60, output: 10, extra: { serviceTier: 'flex' } };
      // (60 × 2 + 10 × 4) ÷ 2 + 5.
      expect(await harness.ledger().settle(request.requestId, used(usage))).toMatchObject({ charged: 85 });
      await expectSound(harness);
    },
  );

  check('a cap is lowered to what is left after everything that does not depend on it', async (harness) => {
    const account = await addAccount(harness, 1_000);
    const ceiling = { ...rich(account).ceiling, output: 400 } as AdmissionRequest['ceiling'];
    const admission = await harness.ledger().admit(rich(account, { ceiling }));
    // (1,000 − 40 × 10 − 2 × 7 − 5) ÷ 2.
    expect(admission).toMatchObject({ kind: 'admitted', output: 290, held: 999 });
  });

  check(
    'a charge never exceeds the hold in any dimension, and the rest is the operator’s',
    async (harness) => {
      const account = await addAccount(harness, 100_000);
      const id = await hold(harness, rich(account));
      const settled = await harness
        .ledger()
        .settle(id, used({ input: 40, output: 100, extra: { audioInput: 40, webSearches: 12 } }));
      expect(settled).toMatchObject({ charged: 619, overrun: 70 });
      await expectSound(harness);
    },
  );
}

function pictureCases(check: ContractCheck): void {
  check(
    'pictures beside an image are held for all of them and charged for those that came',
    async (harness) => {
      const account = await addAccount(harness, 100_000);
      const price = {
        kind: 'images' as const,
        image: nanoUsd(100),
        extra: { inputImage: nanoUsd(7), partialImage: nanoUsd(3) },
      };
      const ceiling = { kind: 'images' as const, images: 2, inputImages: 4, partialImages: 6 };
      const admission = await harness.ledger().admit(imageAdmission(account, 2, { price, ceiling }));
      // 2 × 100 + 4 × 7 + 6 × 3.
      expect(admission).toMatchObject({ kind: 'admitted', held: 246 });
      const [whole, lost] = [
        await hold(harness, imageAdmission(account, 2, { price, ceiling })),
        await hold(harness, imageAdmission(account, 2, { price, ceiling })),
      ];
      const extra = { inputImages: 4, partialImages: 5 };
      expect(await harness.ledger().settle(whole, used({ images: 1, extra }))).toMatchObject({
        charged: 143,
      });
      expect(
        receiptOf(await requestRow(harness, whole)).lines.map(({ item, quantity }) => [item, quantity]),
      ).toEqual([
        ['image', 1],
        ['input_image', 4],
        ['partial_image', 5],
      ]);
      const delivered = { ...NO_USAGE, extra: { inputImages: 4, partialImages: 1 } };
      await harness.ledger().renew([{ requestId: lost, delivered }]);
      await harness.advance(harness.leaseMs + 1_000);
      await harness.ledger().expire();
      expect(await requestRow(harness, lost)).toMatchObject({ state: 'expired', charged: 31 });
      await expectSound(harness);
    },
  );
}

function lostCases(check: ContractCheck): void {
  check('what ran when its node was lost is charged in every dimension', async (harness) => {
    const account = await addAccount(harness, 100_000);
    const id = await hold(harness, rich(account));
    await harness.ledger().renew([{ requestId: id, delivered: USAGE }]);
    await harness.advance(harness.leaseMs + 1_000);
    expect(await harness.ledger().expire()).toBe(1);
    expect(await requestRow(harness, id)).toMatchObject({ state: 'expired', charged: RICH_COST });
    expect(receiptOf(await requestRow(harness, id)).usage).toEqual(USAGE);
    await expectSound(harness);
  });

  check('a hold that another process made is settled at its own price', async (harness) => {
    const account = await addAccount(harness, 100_000);
    const kept = await hold(harness, rich(account));
    const plain = await hold(harness, chatAdmission(account));
    await harness.crash();
    const settled = await Promise.allSettled([
      harness.ledger().settle(kept, used(USAGE)),
      harness.ledger().settle(plain, used({ input: 10, extra: { cacheWrite: 10 } })),
    ]);
    // On SQLite a new process closes at once what an earlier one left; then nothing was delivered.
    const charged = settled.map((one) => (one.status === 'fulfilled' ? one.value.charged : undefined));
    const states = settled.map((one) => (one.status === 'fulfilled' ? one.value.state : undefined));
    expect(charged).toEqual(states[0] === 'void' ? [0, 0].map(nanoUsd) : [RICH_COST, 13].map(nanoUsd));
    await expectSound(harness);
  });

  check('a charge in a rare dimension that is not price × usage is a breach of I4', async (harness) => {
    const account = await addAccount(harness, 100_000);
    const id = await hold(harness, rich(account));
    await harness.ledger().settle(id, used(USAGE));
    for (const text of [
      '{"cacheWrite":9,"audioInput":4,"webSearches":1}',
      '{"cacheWrite":1000}',
      'nonsense',
    ]) {
      await harness.corrupt(`UPDATE receipt SET extra = '${text}' WHERE id = '${id}'`);
      for (const full of [true, false])
        expect((await harness.ledger().verify({ full })).breaches).toMatchObject([
          { invariant: 'I4', subject: id },
        ]);
    }
  });
}

const served = (upstream: string, cost?: Attempt['cost']): Attempt => ({
  upstream,
  result: 'served',
  durationMs: 1,
  cost,
});
const failed = (upstream: string, amount: number): Attempt => ({
  upstream,
  result: 'failed',
  reason: 'timeout',
  durationMs: 1,
  cost: { amount: nanoUsd(amount), basis: 'possible' },
});

function costCases(check: ContractCheck): void {
  check(
    'what a request cost stands in its receipt and in the sums of the day, failed attempts apart',
    async (harness) => {
      const account = await addAccount(harness, 100_000);
      const [one, two, three] = [
        await hold(harness, chatAdmission(account)),
        await hold(harness, chatAdmission(account)),
        await hold(harness, chatAdmission(account)),
      ];
      const priced = served('a', { amount: nanoUsd(7), basis: 'priced' });
      await harness
        .ledger()
        .settle(one, used({ output: 5 }, { upstream: 'a', attempts: [failed('b', 40), priced] }));
      await harness.ledger().settle(two, used({ output: 6 }, { upstream: 'a', attempts: [served('a')] }));
      await harness
        .ledger()
        .void(three, { ...FAILED, upstream: 'b', attempts: [failed('b', 2), failed('c', 3)] });

      expect(await requestRow(harness, one)).toMatchObject({ cost: 7, possible_cost: 40 });
      expect(await requestRow(harness, two)).toMatchObject({ cost: null, possible_cost: 0 });
      expect(await requestRow(harness, three)).toMatchObject({ cost: null, possible_cost: 5 });
      expect(receiptOf(await requestRow(harness, one)).attempts).toEqual([failed('b', 40), priced]);

      const { db } = harness.store;
      const days = await db.selectFrom('usage_day').selectAll().execute();
      expect(days).toHaveLength(2);
      for (const day of days)
        expect(day).toMatchObject({ charged: 22, cost: 7, possible_cost: 45, costed: 10 });
      const backends = await db.selectFrom('backend_day').selectAll().orderBy('backend').execute();
      expect(
        backends.map((row) => [
          row.backend,
          row.requests,
          row.charged,
          row.cost,
          row.possible_cost,
          row.costed,
        ]),
      ).toEqual([
        ['a', 2, 22, 7, 0, 10],
        ['b', 1, 0, 0, 42, 0],
        ['c', 0, 0, 0, 3, 0],
      ]);
      expect((await accountRow(harness, account)).balance).toBe(100_000 - 22);
      await expectSound(harness);
    },
  );
}

const BROKEN_SUMS = [
  `UPDATE usage_day SET cost = cost + 1 WHERE account_id <> ''`,
  `UPDATE usage_day SET possible_cost = 0 WHERE account_id <> ''`,
  `UPDATE usage_day SET cost = cost - 1 WHERE account_id = ''`,
  `UPDATE usage_day SET costed = 0 WHERE account_id = ''`,
  `UPDATE backend_day SET charged = charged + 1 WHERE backend = 'a'`,
  `UPDATE backend_day SET possible_cost = 0 WHERE backend = 'b'`,
];

function savingCases(check: ContractCheck): void {
  check(
    'what cached input saved stands in the sums of the day, at any price and however a request ended',
    async (harness) => {
      const account = await addAccount(harness, 100_000);
      const dearer: Price = { kind: 'tokens', input: 1_000_000, cachedInput: 2_000_000, output: 2_000_000 };
      const [plain, odd, negative, left, expired, expiredOdd] = [
        await hold(harness, chatAdmission(account)),
        await hold(harness, rich(account, { model: 'rich' })),
        await hold(harness, chatAdmission(account, { price: dearer, model: 'dearer' })),
        await hold(harness, chatAdmission(account, { model: 'left' })),
        await hold(harness, chatAdmission(account, { model: 'expired' })),
        await hold(harness, rich(account, { model: 'expired rich' })),
      ];
      const delivered = { ...NO_USAGE, input: 40, cached: 10, output: 10 };
      await harness.ledger().settle(plain, used(delivered));
      await harness.ledger().settle(odd, used({ ...delivered, extra: { webSearches: 1 } }));
      await harness.ledger().settle(negative, used(delivered));
      await harness.ledger().void(left, FAILED);
      await harness.ledger().renew([
        { requestId: expired, delivered },
        { requestId: expiredOdd, delivered },
      ]);
      await harness.crash();
      await harness.advance(harness.leaseMs + 1_000);
      await harness.ledger().expire();
      const rows = await harness.store.db
        .selectFrom('usage_day')
        .select(['account_id', 'model', 'saved'])
        .execute();
      const wanted = { m: 5, rich: 5, dearer: -10, left: 0, expired: 5, 'expired rich': 5 };
      for (const id of ['', account.id])
        expect(
          Object.fromEntries(
            rows.filter((row) => row.account_id === id).map((row) => [row.model, row.saved]),
          ),
        ).toEqual(wanted);
      await expectSound(harness);
    },
  );
}

function brokenSumCases(check: ContractCheck): void {
  for (const sql of BROKEN_SUMS) {
    check(
      `sums of the day that are not those of the receipts are a breach of I8: ${sql}`,
      async (harness) => {
        const account = await addAccount(harness, 100_000);
        const id = await hold(harness, chatAdmission(account));
        const attempts = [failed('b', 40), served('a', { amount: nanoUsd(7), basis: 'reported' })];
        await harness.ledger().settle(id, used({ output: 5 }, { upstream: 'a', attempts }));
        await expectSound(harness);
        await harness.corrupt(sql);
        for (const full of [true, false]) {
          const { breaches } = await harness.ledger().verify({ full });
          expect([...new Set(breaches.map(({ invariant }) => invariant))]).toEqual(['I8']);
        }
      },
    );
  }
}
