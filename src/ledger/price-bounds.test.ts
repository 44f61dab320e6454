import { describe, expect, test } from 'bun:test';
import { nanoUsd } from '../std/money.ts';
import {
  affordableOutput,
  costOf,
  MAX_COUNT,
  NO_USAGE,
  priceFromText,
  priceToText,
  type Price,
} from './price.ts';
import { MAX_COST } from './priced-parts.ts';
import { MAX_TOKEN_PRICE } from '../std/price-dimensions.ts';

/** Prices and counts at their bounds. */

const inputOf = (input: number) => ({ kind: 'tokens', input, output: 1, choices: 1 }) as const;

const tokens = (input: number, output: number): Price => ({
  kind: 'tokens',
  input,
  cachedInput: input,
  output,
});

test('no usage is nothing of anything, and costs nothing', () => {
  expect(new Set<number>(Object.values(NO_USAGE))).toEqual(new Set([0]));
  expect(costOf(tokens(MAX_TOKEN_PRICE, MAX_TOKEN_PRICE), NO_USAGE)).toBe(nanoUsd(0));
});

test('the dearest price is ten thousand dollars for a million tokens, and no cost exceeds eight million dollars', () => {
  expect(MAX_TOKEN_PRICE).toBe(10_000 * 1_000_000_000);
  expect(MAX_COST).toBe(nanoUsd(8_000_000 * 1_000_000_000));
  const most = { ...NO_USAGE, input: MAX_COUNT, output: MAX_COUNT };
  expect(costOf(tokens(MAX_TOKEN_PRICE, MAX_TOKEN_PRICE), { ...most, images: 0 })).toBeLessThanOrEqual(
    MAX_COST,
  );
  expect(costOf({ kind: 'images', image: MAX_COST }, { ...NO_USAGE, images: 2 })).toBe(MAX_COST);
});

describe('the output that an amount can pay', () => {
  test('is what is left after the input, to the last whole token', () => {
    // A token in costs one nano-USD, a token out two.
    const price = tokens(1_000_000, 2_000_000);
    expect(
      [9, 10, 11, 12, 13, 14].map((amount) => affordableOutput(price, inputOf(10), nanoUsd(amount))),
    ).toEqual([0, 0, 0, 1, 1, 2]);
  });

  test('is unlimited where output is free, but only if the input can be paid', () => {
    expect(affordableOutput(tokens(1_000_000, 0), inputOf(10), nanoUsd(10))).toBe(MAX_COUNT);
    expect(affordableOutput(tokens(1_000_000, 0), inputOf(10), nanoUsd(9))).toBe(0);
    // By a millionth of a nano-USD.
    expect(affordableOutput(tokens(1_000_001, 0), inputOf(1), nanoUsd(1))).toBe(0);
  });

  test('is limited where output is nearly free', () => {
    expect(affordableOutput(tokens(0, 1), inputOf(0), nanoUsd(1))).toBe(1_000_000);
    expect(affordableOutput(tokens(0, 1), inputOf(0), nanoUsd(1_000))).toBe(MAX_COUNT);
  });

  test('is nothing where images are sold', () => {
    expect(affordableOutput({ kind: 'images', image: nanoUsd(1) }, inputOf(0), nanoUsd(100))).toBe(0);
  });
});

test('a price survives being written into the books', () => {
  for (const price of [tokens(1, 2), { kind: 'images', image: nanoUsd(3) } as const])
    for (let times = 0; times < 2; times++) expect(priceFromText(priceToText(price))).toEqual(price);
});
