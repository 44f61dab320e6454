import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import type { AccountRow } from '../store/schema.ts';
import { nanoUsd } from '../std/money.ts';
import { bookableOverrun, detailText, storedMs } from './decide.ts';
import { causeOf } from './entries.ts';
import { balanceAfter, redeemedEntry } from './entries.ts';
import { LedgerAccount } from './decide.ts';
import type { Attempt, Ending } from './port.ts';
import { checkedUsage, NO_USAGE } from './price.ts';
import { attemptsOf } from './receipt.ts';
import { WIDE } from './testing/contract-harness.ts';

/** What is written beside the numbers of a receipt, and what an account's row means. */

const ENDING: Ending = { outcome: 'completed', attempts: [], durationMs: 1 };
const detail = (ending: Partial<Ending>): unknown =>
  JSON.parse(detailText({ ...ENDING, ...ending }) ?? 'null');

describe('the detail of a receipt', () => {
  test('is absent when there is nothing to say, and has only what there is', () => {
    expect(detailText(ENDING)).toBeNull();
    expect(detail({ errorCode: 'upstream_error' })).toEqual({ error: 'upstream_error' });
    expect(detail({ finishReason: 'stop' })).toEqual({ finish: 'stop' });
    expect(detail({ attempts: [{ upstream: 'a', result: 'served', durationMs: 4 }] })).toEqual({
      attempts: [[0, 4, 'a']],
    });
  });

  test('names a backend only where it is not the receipt’s own', () => {
    const attempts: Attempt[] = [
      { upstream: 'b', result: 'failed', reason: 'timeout', durationMs: 9 },
      { upstream: 'a', result: 'failed', reason: 'server', durationMs: 8 },
      { upstream: 'c', result: 'skipped', durationMs: 0 },
      { upstream: 'a', result: 'served', durationMs: 7 },
    ];
    expect(detail({ upstream: 'a', attempts })).toEqual({
      attempts: [
        [1, 9, 'b', 'timeout'],
        [1, 8, 0, 'server'],
        [2, 0, 'c'],
        [0, 7],
      ],
    });
  });

  test('any attempts are read back as they were', () => {
    const attempt: fc.Arbitrary<Attempt> = fc.record({
      upstream: fc.constantFrom('a', 'b', 'c'),
      result: fc.constantFrom('served' as const, 'failed' as const, 'skipped' as const),
      durationMs: fc.nat(),
      reason: fc.option(fc.constantFrom('timeout', 'resting'), { nil: undefined }),
    });
    const upstream = fc.option(fc.constantFrom('a', 'b'), { nil: undefined });
    fc.assert(
      fc.property(fc.array(attempt, { minLength: 1 }), upstream, (attempts, own) => {
        const stored = detailText({ ...ENDING, attempts, upstream: own });
        const { attempts: list } = JSON.parse(stored ?? '{}') as { attempts: unknown };
        expect(attemptsOf({ attempts: JSON.stringify(list), upstream: own ?? null })).toEqual(attempts);
      }),
    );
    expect(attemptsOf({ attempts: null, upstream: 'a' })).toEqual([]);
  });
});

test('times are stored as whole milliseconds that both databases take', () => {
  expect([1.4, 1.6, 0, -5].map(storedMs)).toEqual([1, 2, 0, 0]);
  expect(storedMs(2_147_483_647)).toBe(2_147_483_647);
  expect(storedMs(2_147_483_648)).toBe(2_147_483_647);
});

test('entries say what was sold, and which code was redeemed without telling the code', () => {
  expect(causeOf({ endpoint: 'chat', model: 'm' })).toBe('chat/m');
  expect(redeemedEntry('0123456789abcdef', 'spring')).toEqual({
    once: 'code:0123456789abcdef',
    cause: 'code of spring',
    actor: 'code:0123456789ab',
  });
});

test('the operator’s losses are booked up to eight million dollars', () => {
  expect(bookableOverrun(nanoUsd(9_000_000_000_000_000), 0)).toBe(nanoUsd(8_000_000_000_000_000));
});

test('an entry that cannot be is refused with the field that is wrong; a usage that cannot be is our own mistake', () => {
  const faultOf = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (thrown) {
      return thrown;
    }
  };
  const nothing = { balance: nanoUsd(0), held: nanoUsd(0), owed: nanoUsd(0), isRemoved: false };
  expect(faultOf(() => balanceAfter(nothing, { kind: 'credit', amount: 0 }))).toMatchObject({
    code: 'invalid_field',
    param: 'amount',
  });
  expect(faultOf(() => checkedUsage({ ...NO_USAGE, output: -1 }))).toMatchObject({ code: 'internal_error' });
});

describe('an account', () => {
  const row = (more: Partial<AccountRow> = {}): AccountRow =>
    ({
      id: 'acc_1',
      status: 'active',
      role: 'customer',
      balance: 900,
      held: 40,
      owed: 7,
      open_holds: 2,
      chat_arrival_us: 11,
      images_arrival_us: 22,
      chat_per_minute: null,
      images_per_minute: null,
      concurrent: null,
      month: 100,
      month_spent: 70,
      monthly_limit: null,
      token_used_at: null,
      ended_at: null,
      budget: null,
      team_held: 0,
      token_models: null,
      token_networks: null,
      token_expires_at: null,
      ...more,
    }) as AccountRow;
  const stateFor = (rate: 'chat' | 'images', more: Partial<AccountRow> = {}) =>
    new LedgerAccount(row(more), 100).stateFor({ rate, limits: { ...WIDE, concurrent: 5 } });

  test('is seen by the admission rule with its own limits, or else with those of the catalog', () => {
    expect(stateFor('chat')).toEqual({
      active: true,
      balance: nanoUsd(900),
      held: nanoUsd(40),
      owed: nanoUsd(7),
      openHolds: 2,
      arrivalUs: 11,
      perMinute: WIDE.chatPerMinute,
      concurrent: 5,
      monthSpent: nanoUsd(70),
      monthlyLimit: undefined,
    });
    const own = { chat_per_minute: 3, images_per_minute: 4, concurrent: 1, monthly_limit: 0 };
    expect(stateFor('chat', own)).toMatchObject({ perMinute: 3, concurrent: 1, monthlyLimit: nanoUsd(0) });
    expect(stateFor('images', own)).toMatchObject({ perMinute: 4, arrivalUs: 22 });
  });

  test('may spend only while it is active, and never as one of the system’s own', () => {
    const active = (more: Partial<AccountRow>) => new LedgerAccount(row(more), 100).active;
    expect(active({})).toBe(true);
    expect(active({ status: 'disabled' })).toBe(false);
    expect(active({ role: 'system' })).toBe(false);
  });

  test('begins each month at nothing, and forgets nothing when the clock jumps back', () => {
    const inMonth = (month: number) => new LedgerAccount(row(), month);
    expect(inMonth(100)).toMatchObject({ month: 100, monthSpent: nanoUsd(70) });
    expect(inMonth(101)).toMatchObject({ month: 101, monthSpent: nanoUsd(0) });
    expect(inMonth(99)).toMatchObject({ month: 100, monthSpent: nanoUsd(70) });
  });
});
