import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { nanoUsd } from '../std/money.ts';
import type { RequestRow } from '../store/schema.ts';
import { IMAGE_PRICE, TOKEN_PRICE } from './testing/contract-harness.ts';
import { costOf } from './price.ts';
import { NO_USAGE, type Price } from './price.ts';
import { detailText } from './decide.ts';
import { attemptsOf, receiptOf, receiptView } from './receipt.ts';

function row(price: Price, more: Partial<RequestRow> = {}): RequestRow {
  return {
    id: 'req_1',
    account_id: 'acc_1',
    state: 'posted',
    held: 10_000,
    charged: 0,
    overrun: 0,
    node: 'n',
    lease_until: 0,
    kind: 'chat',
    endpoint: 'partner_chat',
    model: 'm',
    price: JSON.stringify(price),
    input_ceiling: 100,
    output_cap: 1_000,
    choices: 1,
    stream: 1,
    client: 'curl',
    created_at: 1_700_000_000_000,
    finished_at: 1_700_000_000_500,
    first_byte_ms: 20,
    duration_ms: 500,
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    images: 0,
    usage_source: 'upstream',
    outcome: 'completed',
    error_code: null,
    finish_reason: 'stop',
    upstream: 'house',
    attempts: null,
    outcome_code: 1,
    extra: null,
    cost: null,
    possible_cost: 0,
    ...more,
  };
}

test('each line is quantity × unit price, and their sum rounded up once is what was due', () => {
  const count = fc.nat(100_000_000);
  const rate = fc.nat(10_000_000_000);
  fc.assert(
    fc.property(count, count, count, rate, rate, rate, (input, cached, output, ...rates) => {
      const [fresh, cachedInput, out] = rates;
      const price: Price = { kind: 'tokens', input: fresh, cachedInput, output: out };
      const usage = { ...NO_USAGE, input, cached: Math.min(input, cached), output };
      const receipt = receiptOf(
        row(price, { input_tokens: input, cached_tokens: usage.cached, output_tokens: output }),
      );
      const product = receipt.lines.reduce(
        (sum, line) => sum + BigInt(line.quantity) * BigInt(line.unitPrice),
        0n,
      );
      expect(BigInt(receipt.total)).toBe((product + 999_999n) / 1_000_000n);
      expect(receipt.total).toBe(costOf(price, usage));
    }),
  );
});

test('the arithmetic is written out in exact dollars', () => {
  const receipt = receiptOf(
    row(TOKEN_PRICE, {
      input_tokens: 90,
      cached_tokens: 41,
      output_tokens: 7,
      reasoning_tokens: 3,
      charged: 84,
    }),
  );
  expect(receipt.lines).toEqual([
    { item: 'input', quantity: 49, unitPrice: 1_000_000, per: 1_000_000, amountUsd: '0.000000049' },
    { item: 'cached_input', quantity: 41, unitPrice: 500_000, per: 1_000_000, amountUsd: '0.0000000205' },
    { item: 'output', quantity: 7, unitPrice: 2_000_000, per: 1_000_000, amountUsd: '0.000000014' },
  ]);
  expect(receipt.total).toBe(nanoUsd(84));
});

test('a service tier’s factor is part of the arithmetic of each line', () => {
  const price: Price = {
    kind: 'tokens',
    input: 1_000_000,
    cachedInput: 500_000,
    output: 2_000_000,
    extra: { serviceTiers: { flex: 500_000 } },
  };
  const extra = JSON.stringify({ serviceTier: 'flex' });
  const receipt = receiptOf(row(price, { input_tokens: 90, output_tokens: 7, extra }));
  expect(receipt.lines).toEqual([
    {
      item: 'input',
      quantity: 90,
      unitPrice: 1_000_000,
      per: 1_000_000,
      factor: 500_000,
      amountUsd: '0.000000045',
    },
    {
      item: 'output',
      quantity: 7,
      unitPrice: 2_000_000,
      per: 1_000_000,
      factor: 500_000,
      amountUsd: '0.000000007',
    },
  ]);
  expect(receipt.total).toBe(nanoUsd(52));
});

test('images are counted by the piece', () => {
  const receipt = receiptOf(row(IMAGE_PRICE, { kind: 'images', images: 3, charged: 3_000 }));
  expect(receipt.lines).toEqual([
    { item: 'image', quantity: 3, unitPrice: 1_000, per: 1, amountUsd: '0.000003' },
  ]);
});

test('the public view tells who served, who counted, what was tried and what it cost', () => {
  const detail = detailText({
    outcome: 'completed',
    upstream: 'house',
    attempts: [
      { upstream: 'a', result: 'failed', reason: 'timeout', durationMs: 400 },
      { upstream: 'house', result: 'served', durationMs: 100 },
    ],
    durationMs: 500,
  });
  const attempts = JSON.stringify((JSON.parse(detail ?? '{}') as { attempts: unknown }).attempts);
  const view = receiptView(receiptOf(row(TOKEN_PRICE, { input_tokens: 10, charged: 10, attempts })));
  expect(view).toMatchObject({
    id: 'req_1',
    backend: 'house',
    usage: { source: 'upstream' },
    charged_usd: '0.00000001',
  });
  expect(view.attempts).toEqual([
    { backend: 'a', result: 'failed', reason: 'timeout', duration_ms: 400 },
    { backend: 'house', result: 'served', reason: null, duration_ms: 100 },
  ]);
  expect(JSON.stringify(view)).not.toContain('acc_1');
});

test('the public view is complete: every field of the documented receipt, with whole seconds and exact dollars', () => {
  const charged = row(TOKEN_PRICE, {
    held: 2_000_000_000,
    charged: 1_500_000_000,
    input_tokens: 10,
    cached_tokens: 4,
    output_tokens: 3,
    reasoning_tokens: 2,
    created_at: 1_700_000_000_999,
    finished_at: 1_700_000_001_999,
    error_code: 'upstream_error',
  });
  expect(receiptView(receiptOf(charged))).toEqual({
    id: 'req_1',
    object: 'request',
    endpoint: 'partner_chat',
    model: 'm',
    created: 1_700_000_000,
    finished: 1_700_000_001,
    state: 'posted',
    outcome: 'completed',
    error_code: 'upstream_error',
    finish_reason: 'stop',
    stream: true,
    usage: {
      input_tokens: 10,
      cached_tokens: 4,
      output_tokens: 3,
      reasoning_tokens: 2,
      images: 0,
      source: 'upstream',
    },
    lines: [
      { item: 'input', quantity: 6, unit_price_usd: '0.001', per: 1_000_000, amount_usd: '0.000000006' },
      {
        item: 'cached_input',
        quantity: 4,
        unit_price_usd: '0.0005',
        per: 1_000_000,
        amount_usd: '0.000000002',
      },
      { item: 'output', quantity: 3, unit_price_usd: '0.002', per: 1_000_000, amount_usd: '0.000000006' },
    ],
    held_usd: '2.00',
    charged_usd: '1.50',
    backend: 'house',
    attempts: [],
    timing: { first_byte_ms: 20, duration_ms: 500 },
  });
});

test('a request that still runs has no end, and one without cached input has no line for it', () => {
  const running = row(TOKEN_PRICE, { finished_at: null, stream: 0, input_tokens: 1 });
  const view = receiptView(receiptOf(running));
  expect(view).toMatchObject({ finished: null, stream: false });
  expect(view.lines.map(({ item }) => item)).toEqual(['input', 'output']);
  const one = row(TOKEN_PRICE, { input_tokens: 1, cached_tokens: 1 });
  expect(receiptOf(one).lines.map(({ item }) => item)).toEqual(['input', 'cached_input', 'output']);
});

test('an attempt whose result is unknown counts as failed, and without a backend its name is empty', () => {
  const attempts = JSON.stringify([
    [9, 5],
    [2, 0, 'b', 'resting'],
  ]);
  expect(receiptOf(row(TOKEN_PRICE, { attempts, upstream: null })).attempts).toEqual([
    { upstream: '', result: 'failed', reason: undefined, durationMs: 5 },
    { upstream: 'b', result: 'skipped', reason: 'resting', durationMs: 0 },
  ]);
});

test('notes among the attempts are told by their names, and attempts that were skipped stay attempts', () => {
  const attempts = JSON.stringify([
    [2, 0, 'a', 'retry_of:req_0'],
    [2, 0, 'a', 'cap_by:max_cost'],
    [2, 0, 'b', 'cooling'],
    [0, 100],
  ]);
  expect(receiptView(receiptOf(row(TOKEN_PRICE, { attempts, output_cap: 77 })))).toMatchObject({
    retry_of: 'req_0',
    max_tokens: 77,
    cap_reason: 'max_cost',
    attempts: [{ reason: 'cooling' }, { backend: 'house', reason: null }],
  });
  const [skipped] = attemptsOf({ attempts: '[[2,0,"b","cooling"]]', upstream: 'house' });
  expect(skipped?.result).toBe('skipped');
  const plain = receiptView(receiptOf(row(TOKEN_PRICE, { attempts: '[[0,100]]' })));
  for (const note of ['retry_of', 'max_tokens', 'cap_reason', 'price_group'])
    expect(plain).not.toHaveProperty(note);
  const grouped = receiptView(receiptOf(row({ ...TOKEN_PRICE, group: 'vip' })));
  expect(grouped).toMatchObject({ price_group: 'vip' });
});

test('a cost that was stored is of the kind that it was', () => {
  const stored = '[[1,5,"a","timeout",7,0],[1,5,"a","timeout",7,1],[1,5,"a","timeout",7,2]]';
  expect(attemptsOf({ attempts: stored, upstream: null }).map(({ cost }) => cost?.basis)).toEqual([
    'reported',
    'priced',
    'possible',
  ]);
});
