import { describe, expect, test } from 'bun:test';
import type { Attempt, Ending, Settled } from '../ledger/port.ts';
import { NO_USAGE } from '../ledger/price.ts';
import { nanoUsd } from '../std/money.ts';
import { mayBeBilled, UpstreamFailure, type FailureKind } from '../upstream/port.ts';
import {
  asPossiblyBilled,
  kindsWithoutPrice,
  tellCosts,
  withServedCost,
  withUnreported,
} from './attempt-costs.ts';
import type { Quote, RelayParts } from './call.ts';

/** The operator's side of a request: what each attempt cost, or may have cost. */

/** A thousandth of a dollar a token, as the catalog counts: nano-dollars for a million. */
const MILL = 1_000_000;
const TOKEN = 1_000_000 * MILL;
const PRICE = { kind: 'tokens', input: TOKEN, cachedInput: TOKEN, output: TOKEN } as const;
const CEILING = { kind: 'tokens', input: 10, output: 5, choices: 1 } as const;
const FAILED: Attempt = { upstream: 'a', result: 'failed', reason: 'timeout', durationMs: 1 };
const SERVED: Attempt = { upstream: 'a', result: 'served', durationMs: 1 };

function quoteWith(more: Partial<Quote> = {}, priced = ['a']): Quote {
  const costs = new Map(priced.map((name) => [name, PRICE]));
  return {
    route: { model: { costs, sizes: [] } },
    ceiling: CEILING,
    price: PRICE,
    ...more,
  } as unknown as Quote;
}

describe('an attempt that failed after its backend may have worked', () => {
  const amount = async (quote = quoteWith(), cap?: number) =>
    (await asPossiblyBilled(FAILED, quote, cap)).cost;

  test('may cost its input and all output that it was allowed', async () => {
    expect(await amount()).toEqual({ amount: nanoUsd(15 * MILL), basis: 'possible' });
    expect((await amount(quoteWith(), 2))?.amount).toBe(nanoUsd(12 * MILL));
  });

  test('has no cost where none is known of its backend', async () => {
    expect(await amount(quoteWith({}, ['b']))).toBeUndefined();
  });

  test('costs its input as it is counted, and as it is bounded where that fails', async () => {
    const counted = quoteWith({
      uncounted: { ceilingByCount: () => Promise.resolve({ ...CEILING, input: 3 }) },
    });
    expect((await amount(counted))?.amount).toBe(nanoUsd(8 * MILL));
    const failing = quoteWith({ uncounted: { ceilingByCount: () => Promise.reject(new Error('busy')) } });
    expect((await amount(failing))?.amount).toBe(nanoUsd(15 * MILL));
  });
});

test('a failure may be billed unless the backend refused, never saw it, or says itself that it failed', () => {
  const billed = (kind: FailureKind, more?: { status: number; isOwnError?: boolean }): boolean =>
    mayBeBilled(new UpstreamFailure(kind, 'failed', more));
  for (const kind of ['connection_lost', 'timeout', 'protocol'] as const) expect(billed(kind)).toBe(true);
  for (const kind of ['connect', 'rate_limited', 'rejected', 'unauthorized', 'overloaded'] as const)
    expect(billed(kind)).toBe(false);
  expect(billed('server', { status: 502 })).toBe(true);
  expect(billed('server', { status: 502, isOwnError: true })).toBe(false);
});

describe('an answer that ended before its report', () => {
  const usage = { ...NO_USAGE, input: 4, output: 2 };
  const rest = async (quote = quoteWith(), cap = 5) =>
    await withUnreported([SERVED], { usage, source: 'counted' }, quote, cap);

  test('may cost what the request can cost beyond what was counted, beside the attempt that served', async () => {
    const cost = { amount: nanoUsd(9 * MILL), basis: 'possible' } as const;
    expect(await rest()).toEqual([
      SERVED,
      { ...SERVED, result: 'failed', reason: 'no_report', durationMs: 0, cost },
    ]);
  });

  test('costs nothing more where all of it was counted, or where no cost is known of its backend', async () => {
    const counted = quoteWith({
      uncounted: { ceilingByCount: () => Promise.resolve({ ...CEILING, input: 3 }) },
    });
    expect(await rest(counted, 2)).toEqual([SERVED]);
    expect(await rest(counted, 3)).toEqual([SERVED]);
    expect(await rest(quoteWith({}, ['b']))).toEqual([SERVED]);
  });
});

describe('the attempt that served', () => {
  const usage = { ...NO_USAGE, input: 2, output: 1 };

  test('costs what the provider reports, else what the catalog says; the others keep theirs', () => {
    const attempts = [FAILED, SERVED];
    const reported = { usage, source: 'upstream', cost: nanoUsd(7) } as const;
    expect(withServedCost(attempts, reported, quoteWith())).toEqual([
      FAILED,
      { ...SERVED, cost: { amount: nanoUsd(7), basis: 'reported' } },
    ]);
    expect(withServedCost(attempts, { ...reported, cost: undefined }, quoteWith())).toEqual([
      FAILED,
      { ...SERVED, cost: { amount: nanoUsd(3 * MILL), basis: 'priced' } },
    ]);
  });

  test('that was free by the provider’s own words costs zero, which is a number', () => {
    const [attempt] = withServedCost([SERVED], { usage, source: 'upstream', cost: nanoUsd(0) }, quoteWith());
    expect(attempt?.cost).toEqual({ amount: nanoUsd(0), basis: 'reported' });
  });

  test('of a backend without a known cost has none', () => {
    expect(withServedCost([SERVED], { usage, source: 'upstream' }, quoteWith({}, []))).toEqual([SERVED]);
  });
});

test('a request that cost more than it brought is told, with the loss; one that gained is not', () => {
  const told: unknown[] = [];
  const parts = {
    dailyCosts: { add: (...cost: unknown[]) => told.push(cost) },
    clock: { now: () => 5 },
    metrics: { loss: (loss: number) => told.push({ loss }) },
    log: { error: (event: string, fields: object) => told.push({ event, ...fields }) },
  } as unknown as RelayParts;
  const cost = (amount: number) => ({ amount: nanoUsd(amount), basis: 'priced' as const });
  const ending = {
    upstream: 'b',
    attempts: [
      { ...FAILED, cost: cost(30) },
      { ...FAILED, upstream: 'x' },
      { ...SERVED, upstream: 'b', cost: cost(80) },
    ],
  } as unknown as Ending;
  const charged = (amount: number) => ({ charged: nanoUsd(amount) }) as Settled;
  tellCosts(ending, charged(110), parts, { request: 'r' });
  const costs = [
    ['a', 30, 5],
    ['b', 80, 5],
  ];
  expect(told).toEqual(costs);
  tellCosts(ending, charged(100), parts, { request: 'r' });
  expect(told).toEqual([
    ...costs,
    ...costs,
    { loss: 10 },
    { event: 'margin_below_zero', request: 'r', backend: 'b', lossNanoUsd: 10 },
  ]);
});

test('kinds of usage that have no price of their own are named', () => {
  const usage = { ...NO_USAGE, input: 9, extra: { audioInput: 4, serviceTier: 'flex' } };
  expect(kindsWithoutPrice({ usage, source: 'upstream' }, quoteWith())).toEqual([
    'audio_input',
    'service_tiers.flex',
  ]);
  expect(kindsWithoutPrice({ usage: { ...NO_USAGE, input: 9 }, source: 'upstream' }, quoteWith())).toEqual(
    [],
  );
});
