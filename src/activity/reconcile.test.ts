import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sqliteHarness } from '../ledger/testing/sqlite-harness.ts';
import {
  addAccount,
  chatAdmission,
  hold,
  used,
  type LedgerHarness,
} from '../ledger/testing/contract-harness.ts';
import { dayOf } from '../std/calendar.ts';
import { newRequestId } from '../std/ids.ts';
import { nanoUsd } from '../std/money.ts';
import { reconcile, bookExport } from './reconcile.ts';
import { losses, marginRows } from './margin.ts';
import { IN_PLACE } from './reader.ts';
import { readProviderExport } from './provider-export.ts';

/** Exports in the shapes of the providers' references; see provider-export.ts for their addresses. */

const START = Date.UTC(2026, 0, 15) / 1000;
const openAi = (results: object[], more: object = {}) =>
  JSON.stringify({
    object: 'page',
    data: [{ object: 'bucket', start_time: START, end_time: START + 86_400, results }],
    has_more: false,
    next_page: null,
    ...more,
  });
const anthropic = (results: object[]) =>
  JSON.stringify({
    data: [{ starting_at: '2026-01-15T00:00:00Z', ending_at: '2026-01-16T00:00:00Z', results }],
    has_more: true,
    next_page: 'page_2',
  });

describe('an export', () => {
  test('of OpenAI’s usage is read by day and model', () => {
    const result = {
      object: 'organization.usage.completions.result',
      input_tokens: 1_000,
      input_cached_tokens: 800,
      output_tokens: 500,
      num_model_requests: 5,
      model: 'gpt-5-mini',
    };
    expect(readProviderExport(openAi([result]))).toEqual({
      kind: 'usage',
      isPartial: false,
      lines: [expect.objectContaining({ day: 20260115, model: 'gpt-5-mini', tokens: 1_500, requests: 5 })],
    });
  });

  test('of OpenAI’s costs is read in dollars, its model from the line item', () => {
    const amount = { value: 0.06, currency: 'usd' };
    const results = [{ object: 'organization.costs.result', amount, line_item: 'gpt-5-mini, input' }];
    expect(readProviderExport(openAi(results)).lines).toMatchObject([
      { model: 'gpt-5-mini', cost: 60_000_000 },
    ]);
  });

  test('of Anthropic’s usage and costs is read, amounts in cents', () => {
    const usage = {
      uncached_input_tokens: 10,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 5 },
      cache_read_input_tokens: 3,
      output_tokens: 7,
      model: 'claude-sonnet-4-5',
    };
    expect(readProviderExport(anthropic([usage]))).toMatchObject({
      kind: 'usage',
      isPartial: true,
      lines: [{ tokens: 45, cacheWrites: 25 }],
    });
    const cost = { amount: '123.45', currency: 'USD', model: 'claude-sonnet-4-5', cost_type: 'tokens' };
    expect(readProviderExport(anthropic([cost])).lines).toMatchObject([{ cost: 1_234_500_000 }]);
  });

  test.each([
    ['{', 'not JSON'],
    ['[]', 'no lines'],
    ['{}', 'has no data'],
    [openAi([]), 'no lines'],
    [openAi([{ input_tokens: -1 }]), 'input_tokens of the export is not a whole number'],
    [openAi([{ amount: { value: 'x', currency: 'usd' } }]), 'no number'],
    [openAi([{ amount: { value: 1, currency: 'eur' } }]), 'eur'],
    [openAi([{ num_sessions: 1 }]), 'neither tokens nor an amount'],
    [openAi([{ input_tokens: 1 }, { amount: { value: 1, currency: 'usd' } }]), 'mixes'],
    [JSON.stringify({ data: [{ results: [] }] }), 'no start_time'],
  ])('that cannot be read is refused in a sentence: %#', (text, sentence) => {
    expect(() => readProviderExport(text)).toThrow(sentence);
  });
});

describe('books beside an export', () => {
  let harness: LedgerHarness;
  let day: number;
  beforeAll(async () => {
    harness = await sqliteHarness();
    day = dayOf(await harness.now());
    const account = await addAccount(harness, 1_000_000);
    const settle = async (model: string, more: Parameters<typeof used>) =>
      await harness
        .ledger()
        .settle(
          await hold(
            harness,
            chatAdmission(account, { model, requestId: newRequestId(await harness.now()) }),
          ),
          used(...more),
        );
    const served = (amount: number) =>
      ({
        upstream: 'a',
        result: 'served',
        durationMs: 1,
        cost: { amount: nanoUsd(amount), basis: 'priced' },
      }) as const;
    await settle('m', [
      { input: 50, output: 50 },
      { upstream: 'a', attempts: [served(10)] },
    ]);
    await settle('m', [
      { input: 10, output: 5 },
      { upstream: 'a', outcome: 'client_left', source: 'counted', attempts: [] },
    ]);
    const failed = {
      upstream: 'b',
      result: 'failed',
      durationMs: 1,
      cost: { amount: nanoUsd(900), basis: 'possible' },
    } as const;
    await settle('n', [
      { input: 40, output: 10 },
      { upstream: 'a', attempts: [failed, served(3)] },
    ]);
  });
  afterAll(() => harness.close());

  const theirs = (lines: { model: string; tokens: number; cacheWrites?: number }[]) => ({
    kind: 'usage' as const,
    isPartial: false,
    lines: lines.map((line) => ({ day, requests: 0, cost: 0, cacheWrites: 0, ...line })),
  });

  test('agree where nothing is missing, though the provider adds a date to its names', async () => {
    const rows = await reconcile(
      harness.store.db,
      theirs([
        { model: 'm-2026-01-01', tokens: 115 },
        { model: 'n', tokens: 50 },
      ]),
      { backends: ['a'] },
    );
    expect(rows.map(({ model, difference, unknown }) => [model, difference, unknown])).toEqual([
      ['m', 0, 0],
      ['n', 0, 0],
    ]);
  });

  test('explain a difference by cache writes, retries and cut streams, and name the rest', async () => {
    const rows = await reconcile(
      harness.store.db,
      theirs([
        { model: 'm', tokens: 2_000, cacheWrites: 100 },
        { model: 'n', tokens: 120 },
      ]),
      { backends: ['a'] },
    );
    // A stream that was left after 5 of at most 1,000 tokens may have made 995 more.
    expect(rows).toMatchObject([
      { model: 'm', difference: 1_885, cacheWrites: 100, retries: 0, cutStreams: 995, unknown: 790 },
      { model: 'n', difference: 70, cacheWrites: 0, retries: 50, cutStreams: 0, unknown: 20 },
    ]);
  });

  test('show models that the provider does not know as unknown, below zero', async () => {
    const rows = await reconcile(harness.store.db, theirs([{ model: 'm', tokens: 115 }]), {
      backends: ['a'],
    });
    expect(rows).toMatchObject([{ model: 'm' }, { model: 'n', difference: -50, unknown: -50 }]);
  });

  const costs = (lines: { model: string | undefined; cost: number }[]) => ({
    kind: 'cost' as const,
    isPartial: false,
    lines: lines.map((line) => ({ day, requests: 0, tokens: 0, cacheWrites: 0, ...line })),
  });

  test('have failed attempts under the backend that failed, whoever served', async () => {
    const bill = costs([{ model: 'n', cost: 100 }]);
    expect(await reconcile(harness.store.db, bill, { backends: ['b'] })).toMatchObject([
      { model: 'n', theirs: 100, ours: 0, retries: 100, unknown: 0, possibleCost: 900 },
    ]);
    expect(await reconcile(harness.store.db, bill, { backends: ['a'] })).toMatchObject([
      { model: 'm', isListed: false },
      { model: 'n', ours: 3, retries: 0, possibleCost: 0 },
    ]);
  });

  test('are compared under the names of the provider, two of our models with one name together', async () => {
    const rows = await reconcile(harness.store.db, costs([{ model: 'theirs-2026-01-01', cost: 20 }]), {
      backends: ['a'],
      nameAt: () => 'theirs',
    });
    expect(rows).toMatchObject([{ model: 'theirs', theirs: 20, ours: 13, difference: 7 }]);
  });

  test('are compared as one sum with a bill without models; with one that has some, the rest is of no model', async () => {
    const { db } = harness.store;
    const whole = costs([{ model: undefined, cost: 500 }]);
    expect(await reconcile(db, whole, {})).toMatchObject([
      { model: 'all models', theirs: 500, ours: 13, retries: 487, possibleCost: 900 },
    ]);
    const parts = costs([
      { model: undefined, cost: 500 },
      { model: 'n', cost: 3 },
    ]);
    expect(await reconcile(db, parts, {})).toMatchObject([
      { model: 'm', isListed: false, ours: 10 },
      { model: 'n', difference: 0 },
      { model: 'no model', theirs: 500, ours: 0, unknown: 500 },
    ]);
  });

  test('tell the margin by model and by backend, and the requests that cost more than they brought', async () => {
    const at = { from: day, to: day };
    const parts = { store: harness.store, reader: IN_PLACE };
    expect(await marginRows(parts, at, 'model')).toEqual([
      { key: 'm', requests: 2, charged: 170, costed: 150, cost: 10, possibleCost: 0, margin: 140 },
      { key: 'n', requests: 1, charged: 60, costed: 60, cost: 3, possibleCost: 900, margin: -843 },
    ]);
    expect(await marginRows(parts, at, 'day')).toEqual([
      { key: String(day), requests: 3, charged: 230, costed: 210, cost: 13, possibleCost: 900, margin: -703 },
    ]);
    const backends = await marginRows(parts, at, 'backend');
    expect(backends.map(({ key, margin }) => [key, margin])).toEqual([
      ['a', 197],
      ['b', -900],
    ]);
    expect(await losses(harness.store.db, 5).execute()).toMatchObject([
      { model: 'n', cost: 3, possible_cost: 900 },
    ]);
  });

  test('take a bill without models as one sum, and keep what they have of models that a bill does not name', async () => {
    const { store } = harness;
    const booking = { store, nowMs: (await harness.now()) + 3 * 86_400_000, actor: 'test', cause: 'bill' };
    const other = await reconcile(store.db, costs([{ model: 'other', cost: 1 }]), {});
    expect(await bookExport(booking, other, {})).toEqual([
      { day, model: 'n', atMost: 900, billed: 0, kept: 'not_listed' },
    ]);
    const whole = await reconcile(store.db, costs([{ model: undefined, cost: 500 }]), {});
    expect(await bookExport({ ...booking, nowMs: await harness.now() }, whole, {})).toEqual([
      { day, model: 'all models', atMost: 900, billed: 0, kept: 'not_over' },
    ]);
    expect(await bookExport(booking, whole, {})).toEqual([
      { day, model: 'all models', atMost: 900, billed: 487 },
    ]);
    const at = { from: day, to: day };
    expect(await marginRows({ store, reader: IN_PLACE }, at, 'day')).toMatchObject([
      { cost: 500, possibleCost: 0 },
    ]);
    expect((await harness.ledger().verify({ full: true })).breaches).toEqual([]);
  });
});
