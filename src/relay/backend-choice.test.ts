import { describe, expect, test } from 'bun:test';
import { withChosenBackends } from './backend-choice.ts';
import type { Call, Quote } from './call.ts';

/** Which backends a request gets, of those that its endpoint lets clients choose from: a and b share a place, c comes next. */

const PLACES = [
  [
    { upstream: 'a', weight: 1 },
    { upstream: 'b', weight: 2 },
  ],
  [{ upstream: 'c', weight: 1 }],
];

function chosen(provider: unknown, selectable: ReadonlySet<string> | undefined = new Set(['a', 'b', 'c'])) {
  const quote = { route: { endpoint: { places: PLACES, selectable }, model: {} } } as unknown as Quote;
  return withChosenBackends(quote, { request: { provider } } as Call<unknown>).route;
}

const names = (provider: unknown): string[] =>
  chosen(provider).endpoint.places.map((place) => place.map(({ upstream }) => upstream).join('+'));

test.each<[object, string[]]>([
  [{}, ['a+b', 'c']],
  [{ only: ['a'] }, ['a']],
  [{ only: ['c', 'b'] }, ['b', 'c']],
  [{ order: ['c'] }, ['c', 'a+b']],
  [{ order: ['c', 'a'] }, ['c', 'a', 'b']],
  [{ order: ['c', 'c'] }, ['c', 'a+b']],
  [{ order: ['c', 'a'], allow_fallbacks: false }, ['c', 'a']],
  [{ order: ['c', 'a'], only: ['a', 'b'] }, ['a', 'b']],
])('%j is asked in this order: %j', (provider, order) => {
  expect(names(provider)).toEqual(order);
});

test('whose price it is and when it ends stay, which the ledger is asked with', () => {
  const route = {
    endpoint: { places: PLACES, selectable: new Set(['c']) },
    validUntil: 7,
    priceGroup: 'vip',
  };
  const choosing = { request: { provider: { only: ['c'] } } } as Call<unknown>;
  expect(withChosenBackends({ route } as unknown as Quote, choosing).route).toMatchObject({
    validUntil: 7,
    priceGroup: 'vip',
  });
});

test('weights within a place stay', () => {
  expect(chosen({ order: ['c'] }).endpoint.places[1]).toEqual(PLACES[0] ?? []);
});

test('without fallbacks the first backend alone is asked, unless an order names others', () => {
  expect(chosen({ allow_fallbacks: false }).hasFallbacks).toBe(false);
  expect(chosen({ allow_fallbacks: false, order: ['a', 'b'] }).hasFallbacks).toBe(true);
  expect(chosen({ allow_fallbacks: true }).hasFallbacks).toBe(true);
});

test('an endpoint that lets nobody choose, and a request that does not choose, stay as they are', () => {
  const route = { endpoint: { places: PLACES }, model: {} };
  const quote = { route } as unknown as Quote;
  expect(withChosenBackends(quote, { request: { provider: { only: ['a'] } } } as Call<unknown>)).toBe(quote);
  const choosing = { route: { ...route, endpoint: { places: PLACES, selectable: new Set(['a']) } } };
  expect(withChosenBackends(choosing as unknown as Quote, { request: {} } as Call<unknown>)).toBe(
    choosing as unknown as Quote,
  );
});

describe('a name that may not be chosen', () => {
  test.each<[object, string, string]>([
    [{ order: ['a', 'x'] }, 'provider.order.1', 'provider.order may name these backends: a, b.'],
    [{ only: ['c'] }, 'provider.only.0', 'provider.only may name these backends: a, b.'],
  ])('is refused with its place and those that may: %j', (provider, param, message) => {
    expect(() => chosen(provider, new Set(['a', 'b']))).toThrow(message);
    try {
      chosen(provider, new Set(['a', 'b']));
    } catch (fault) {
      expect(fault).toMatchObject({ code: 'invalid_field', param });
    }
  });

  test('an order and a restriction with nothing in common are refused', () => {
    expect(() => chosen({ order: ['c'], only: ['a'] })).toThrow('have no backend in common');
  });
});
