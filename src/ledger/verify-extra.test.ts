import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { STATE_CODES } from '../store/receipt-codes.ts';
import { nanoUsd } from '../std/money.ts';
import { priceToText } from './price.ts';
import type { TokenPrice } from './priced-parts.ts';
import { extraChargeBreaches } from './verify-extra.ts';
import { oldestHoldMs } from './verify-checks.ts';

/** Receipts whose price has parts that SQL does not know, as the ledger wrote them: a dollar per million each way. */
const PRICE: TokenPrice = {
  kind: 'tokens',
  input: 1_000_000_000,
  cachedInput: 1_000_000_000,
  output: 1_000_000_000,
  extra: { request: nanoUsd(5) },
};

function books(receipts: number, wrong: readonly number[], extra: string | null = null) {
  const database = new Database(':memory:');
  database.run('CREATE TABLE price (id INTEGER, value TEXT)');
  database.run(`CREATE TABLE receipt (id TEXT, state INTEGER, held INTEGER, charged INTEGER, overrun INTEGER,
    input_tokens INTEGER, cached_tokens INTEGER, output_tokens INTEGER, reasoning_tokens INTEGER, images INTEGER,
    extra TEXT, price INTEGER)`);
  database.run('INSERT INTO price VALUES (1, ?)', [priceToText(PRICE)]);
  const insert = database.prepare('INSERT INTO receipt VALUES (?, ?, 1000000, ?, 0, 1, 0, 1, 0, 0, ?, 1)');
  for (let place = 0; place < receipts; place++)
    insert.run(id(place), STATE_CODES.posted, wrong.includes(place) ? 2_006 : 2_005, extra);
  return (sql: string) => Promise.resolve(database.query(sql).all() as never[]);
}

const id = (place: number): string => `req_${String(place).padStart(5, '0')}`;

test('every receipt from the first one on is computed again, in batches, and each that is wrong is named once', async () => {
  const query = books(1_700, [0, 499, 500, 1_000, 1_699]);
  const found = await extraChargeBreaches(query, id(0));
  expect(found.map(({ subject }) => subject)).toEqual([0, 499, 500, 1_000, 1_699].map(id));
  const later = await extraChargeBreaches(query, id(500));
  expect(later.map(({ subject }) => subject)).toEqual([500, 1_000, 1_699].map(id));
  expect(found[0]).toMatchObject({ invariant: 'I4', detail: expect.stringContaining('charged 2006') });
});

test('a receipt with a usage that the table of dimensions cannot price is named', async () => {
  expect(await extraChargeBreaches(books(1, [], '{"imageInput":1}'), id(0))).toEqual([]);
  for (const extra of ['{"videoInput":1}', '{"imageInput":2}', '{"imageInput":-1}'])
    expect(await extraChargeBreaches(books(1, [], extra), id(0))).toMatchObject([
      { invariant: 'I4', subject: id(0), detail: expect.stringContaining('unknown') },
    ]);
});

test('where nobody knows how long a request may live, four calls with the longest deadlines are no breach', () => {
  const hours = 4 * (1 + 24);
  expect(oldestHoldMs()).toBeGreaterThanOrEqual(hours * 3_600_000);
  expect(oldestHoldMs(5_000, 300) - oldestHoldMs(0, 0)).toBe(5_300);
});
