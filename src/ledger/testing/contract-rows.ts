import { expect } from 'bun:test';
import { nanoUsd } from '../../std/money.ts';
import {
  addAccount,
  chatAdmission,
  hold,
  imageAdmission,
  nth,
  requestRow,
  used,
  type ContractCheck,
} from './contract-harness.ts';

/** What the rows beside hold and receipt say: sums by name, prices in their parts, routes. */
export function rowCases(check: ContractCheck): void {
  sumCases(check);
  numberCases(check);
}

function sumCases(check: ContractCheck): void {
  check(
    'requests that are closed together are summed by their own names, even where a backend is called like a model',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      const served: [model: string, endpoint: string, backend: string, output: number][] = [
        ['m', 'e', 'm', 1],
        ['other', 'e', 'm', 2],
        ['m', 'e', 'x', 4],
        ['m', 'm', 'other', 8],
        ['e', 'm', 'm', 16],
        ['m', 'e', 'm', 32],
      ];
      const ids = await Promise.all(
        served.map(([model, endpoint]) => hold(harness, chatAdmission(account, { model, endpoint }))),
      );
      await Promise.all(
        served.map(([, , upstream, output], index) =>
          harness.ledger().settle(nth(ids, index), used({ output }, { upstream })),
        ),
      );
      const backends = await harness.store.db
        .selectFrom('backend_day')
        .select(['backend', 'model', 'requests', 'charged'])
        .orderBy('backend')
        .orderBy('model')
        .execute();
      expect(backends).toEqual([
        { backend: 'm', model: 'e', requests: 1, charged: 32 },
        { backend: 'm', model: 'm', requests: 2, charged: 66 },
        { backend: 'm', model: 'other', requests: 1, charged: 4 },
        { backend: 'other', model: 'm', requests: 1, charged: 16 },
        { backend: 'x', model: 'm', requests: 1, charged: 8 },
      ]);
      for (const account_id of ['', account.id]) {
        const usage = await harness.store.db
          .selectFrom('usage_day')
          .select(['endpoint', 'model', 'requests', 'output_tokens'])
          .where('account_id', '=', account_id)
          .orderBy('endpoint')
          .orderBy('model')
          .execute();
        expect(usage).toEqual([
          { endpoint: 'e', model: 'm', requests: 3, output_tokens: 37 },
          { endpoint: 'e', model: 'other', requests: 1, output_tokens: 2 },
          { endpoint: 'm', model: 'e', requests: 1, output_tokens: 16 },
          { endpoint: 'm', model: 'm', requests: 1, output_tokens: 8 },
        ]);
      }
    },
  );
}

function numberCases(check: ContractCheck): void {
  check('a price is kept once, in its parts, and parts that it does not have are zero', async (harness) => {
    const account = await addAccount(harness, 1_000_000);
    const tokens = { kind: 'tokens', input: 12_345, cachedInput: 678, output: 91_011 } as const;
    const images = { kind: 'images', image: nanoUsd(12_131) } as const;
    for (let round = 0; round < 2; round++) {
      await hold(harness, chatAdmission(account, { price: tokens }));
      await hold(harness, imageAdmission(account, 1, { price: images }));
    }
    // Prices stay when a test's books are emptied.
    const prices = await harness.store.db
      .selectFrom('price')
      .selectAll()
      .where((is) => is.or([is('output', '=', 91_011), is('image', '=', 12_131)]))
      .orderBy('image')
      .execute();
    expect(prices).toMatchObject([
      { input: 12_345, cached_input: 678, output: 91_011, image: 0 },
      { input: 0, cached_input: 0, output: 0, image: 12_131 },
    ]);
  });

  check(
    'each kind, endpoint and model is a route of its own, and a request names its own',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      const wishes = [
        { rate: 'chat', endpoint: 'route_a', model: 'm' },
        { rate: 'chat', endpoint: 'route_a', model: 'n' },
        { rate: 'chat', endpoint: 'route_b', model: 'm' },
        { rate: 'chat', endpoint: 'route_m', model: 'route_a' },
        { rate: 'images', endpoint: 'route_a', model: 'm' },
        { rate: 'chat', endpoint: 'route_a', model: 'm' },
      ] as const;
      for (const wish of wishes) {
        const row = await requestRow(harness, await hold(harness, chatAdmission(account, wish)));
        expect({ rate: row.kind, endpoint: row.endpoint, model: row.model }).toEqual(wish);
      }
      const routes = await harness.store.db
        .selectFrom('route')
        .selectAll()
        .where('endpoint', 'like', 'route%')
        .execute();
      expect(routes).toHaveLength(5);
    },
  );
}
