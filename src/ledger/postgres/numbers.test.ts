import { describe, expect, test } from 'bun:test';
import type { AdmissionRequest } from '../port.ts';
import { chatAdmission, FREE, TOKEN_PRICE } from '../testing/contract-harness.ts';
import { Numbers, routeKey } from './numbers.ts';
import { CallFailed, type LedgerPool } from './pool.ts';

/** Each value is numbered once, before anything refers to it. The test is the database, and counts what it is asked. */

const TESTER = { id: 'acc_1' as never, hash: 'hash' as never };
const chat = (more: Partial<AdmissionRequest> = {}) => chatAdmission(TESTER, more);

function database() {
  const asked: string[][] = [];
  const failures: Error[] = [];
  let given = 0;
  const count = (array: unknown): number[] =>
    String(array) === '{}'
      ? []
      : String(array)
          .match(/"(?:[^"\\]|\\.)*"/g)!
          .map(() => ++given);
  const call = (_: unknown, values: readonly unknown[]): Promise<object[]> => {
    asked.push([values[0], values[5], values[8], values[9]].map(String));
    const failure = failures.shift();
    if (failure) return Promise.reject(failure);
    const row = {
      prices: count(values[0]),
      routes: count(values[5]),
      backends: count(values[8]),
      nodes: count(values[9]),
    };
    return Promise.resolve([row]);
  };
  // All that the numbers need of a pool is the call.
  return { asked, failures, numbers: new Numbers({ call } as unknown as LedgerPool, 'node 1') };
}

describe('a number', () => {
  test('is asked for once, together with all others that are new', async () => {
    const { numbers, asked } = database();
    await numbers.needForAdmissions([chat(), chat({ model: 'other' }), chat()]);
    await numbers.needForBackends(['a', undefined, 'b', 'a']);
    expect([
      numbers.price(TOKEN_PRICE),
      numbers.route(chat()),
      numbers.route(chat({ model: 'other' })),
    ]).toEqual([1, 2, 3]);
    expect([numbers.node, numbers.backend('a'), numbers.backend('b')]).toEqual([4, 5, 6]);
    expect(asked).toHaveLength(2);
    await numbers.needForAdmissions([chat()]);
    await numbers.needForBackends(['b']);
    await numbers.needForBackends([]);
    expect(asked).toHaveLength(2);
    await numbers.needForAdmissions([chat({ price: FREE })]);
    expect(asked[2]?.slice(1)).toEqual(['{}', '{}', '{}']);
    expect(numbers.price(FREE)).toBe(7);
  });

  test('belongs to one kind, endpoint and model', async () => {
    const { numbers } = database();
    const routes = [chat(), chat({ rate: 'images' }), chat({ endpoint: 'e' }), chat({ model: 'n' })];
    await numbers.needForAdmissions(routes);
    expect(new Set(routes.map((route) => numbers.route(route))).size).toBe(4);
    expect(new Set(routes.map(routeKey)).size).toBe(4);
  });

  test('whose answer was lost is asked for a second time, and not a third', async () => {
    const { numbers, asked, failures } = database();
    failures.push(new CallFailed('unknown', 'lost'));
    await numbers.needForBackends(['a']);
    expect(asked).toHaveLength(2);
    expect(numbers.backend('a')).toBe(1);
    failures.push(new CallFailed('unknown', 'lost'), new CallFailed('unknown', 'lost again'));
    expect(numbers.needForBackends(['b'])).rejects.toThrow('lost again');
  });

  test('that was refused is not asked for again, and is not known', async () => {
    for (const failure of [new CallFailed('not_sent', 'away'), new Error('away')]) {
      const { numbers, asked, failures } = database();
      failures.push(failure);
      expect(await numbers.needForBackends(['a']).catch((thrown: unknown) => thrown)).toBe(failure);
      expect(asked).toHaveLength(1);
      expect(() => numbers.backend('a')).toThrow("no number of backends is known for 'a'");
    }
  });

  test('is forgotten with all others when the database has lost something', async () => {
    const { numbers, asked } = database();
    await numbers.needForAdmissions([chat()]);
    numbers.forget();
    expect(() => numbers.node).toThrow('no number of nodes');
    expect(() => numbers.price(TOKEN_PRICE)).toThrow('no number of prices');
    expect(() => numbers.route(chat())).toThrow('no number of routes');
    await numbers.needForAdmissions([chat()]);
    expect(asked[1]).toEqual(asked[0] ?? []);
  });
});
