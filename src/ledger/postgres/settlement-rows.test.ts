import { describe, expect, test } from 'bun:test';
import { requestIdAt, type RequestId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { NO_USAGE } from '../price.ts';
import { FAILED, used } from '../testing/contract-harness.ts';
import type { IssuedHold } from './issued-holds.ts';
import {
  closedRows,
  expiredRows,
  firstOfEach,
  isWithin,
  settledOf,
  settlementOf,
  voidOf,
  type ClosedAnswer,
} from './settlement.ts';

/** How the answer of a close is read: by places in arrays, counted from one. */

const NOTHING: ClosedAnswer = {
  places: null,
  held: null,
  costs: null,
  overruns: null,
  available: null,
  models: null,
  earlier: null,
  earlier_states: null,
  earlier_charged: null,
  earlier_held: null,
  earlier_overruns: null,
  earlier_available: null,
};
const id = (n: number): RequestId => `${requestIdAt(1_000 + n)}x` as RequestId;

describe('the answer', () => {
  test('tells of each hold that was closed now, in its place, and never charges more than was held', () => {
    const answer: ClosedAnswer = {
      ...NOTHING,
      places: '{3,1}',
      held: '{100,200}',
      costs: '{150,30}',
      overruns: '{50,0}',
      available: '{7,8}',
      models: '{"m 1",m2}',
    };
    const rows = closedRows(answer, ['a', 'b', 'c'], (place) => (place === 2 ? 'posted' : 'void'));
    expect(rows).toEqual([
      {
        id: 'c',
        state: 'posted',
        charged: 100,
        held: 100,
        overrun: 50,
        available: 7,
        excess: 50,
        model: 'm 1',
      },
      { id: 'a', state: 'void', charged: 30, held: 200, overrun: 0, available: 8, excess: 0, model: 'm2' },
    ]);
  });

  test('tells of each that had been closed before, as it was closed then', () => {
    const answer: ClosedAnswer = {
      ...NOTHING,
      earlier: '{2,1}',
      earlier_states: '{1,2}',
      earlier_charged: '{10,0}',
      earlier_held: '{20,30}',
      earlier_overruns: '{5,0}',
      earlier_available: '{1,2}',
    };
    expect(closedRows(answer, ['a', 'b'], () => 'void')).toEqual([
      { id: 'b', state: 'posted', charged: 10, held: 20, overrun: 5, available: 1, excess: 0, model: '' },
      { id: 'a', state: 'void', charged: 0, held: 30, overrun: 0, available: 2, excess: 0, model: '' },
    ]);
    expect(closedRows(undefined, ['a'], () => 'void')).toEqual([]);
    expect(expiredRows({ ...NOTHING, ids: null })).toEqual([]);
  });

  test('names the holds that ran out of time', () => {
    const answer = {
      ...NOTHING,
      ids: 'x,y',
      places: '{1,2}',
      held: '{5,5}',
      costs: '{1,2}',
      overruns: '{0,0}',
      available: '{0,0}',
      models: '{m,m}',
    };
    expect(expiredRows(answer).map((row) => [row.id, row.state, row.charged])).toEqual([
      ['x', 'expired', 1],
      ['y', 'expired', 2],
    ]);
  });

  test('without a row means that there never was such a request, which is our mistake', () => {
    expect(settledOf(undefined, id(1))).toMatchObject({
      code: 'internal_error',
      detail: `no hold ${id(1)}`,
    });
    const row = {
      id: id(1),
      state: 'posted' as const,
      charged: 1,
      held: 2,
      overrun: 3,
      available: 4,
      excess: 9,
      model: 'm',
    };
    expect(settledOf(row, id(1))).toEqual({
      state: 'posted',
      charged: nanoUsd(1),
      held: nanoUsd(2),
      overrun: nanoUsd(3),
      available: nanoUsd(4),
    });
  });
});

test('of several that close one hold the first is sent, and all in the order in which the database locks them', () => {
  const settlement = settlementOf(id(2), used({ output: 1 }));
  const sent = firstOfEach([settlement, voidOf(id(1), FAILED), voidOf(id(2), FAILED), voidOf(id(3), FAILED)]);
  expect(sent.map(({ requestId }) => requestId)).toEqual([id(1), id(2), id(3)]);
  expect(sent[1]).toBe(settlement);
});

test('a hold is voided without usage, and a usage that cannot be is our mistake', () => {
  expect(voidOf(id(1), FAILED)).toMatchObject({ state: 'void', usage: NO_USAGE, source: undefined });
  expect(() => settlementOf(id(1), used({ output: -1 }))).toThrow('went wrong on our side');
});

describe('what a hold covers', () => {
  const hold = (held: number): IssuedHold =>
    ({
      request: { price: { kind: 'tokens', input: 0, cachedInput: 0, output: 1_000_000 } },
      admission: { held: nanoUsd(held) },
    }) as IssuedHold;
  const posted = settlementOf(id(1), used({ output: 5 }));

  test('is known where the hold is: up to the last nano-dollar, and not beyond', () => {
    expect([4, 5, 6].map((held) => isWithin(posted, hold(held)))).toEqual([false, true, true]);
    expect(isWithin(posted, undefined)).toBe(false);
  });

  test('is always enough for what is given back', () => {
    expect(isWithin(voidOf(id(1), FAILED), undefined)).toBe(true);
  });
});
