import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { numbersIn, plainArray, textArray, textsIn } from './batch.ts';
import { CallFailed } from './pool.ts';

/** Arrays travel as text in both directions. How the database itself writes them is shown by the contract's cases. */

describe('arrays', () => {
  test('of numbers are read as they were written', () => {
    fc.assert(
      fc.property(fc.array(fc.maxSafeInteger()), (numbers) => {
        expect(numbersIn(plainArray(numbers))).toEqual(numbers.map((number) => number + 0));
      }),
    );
    expect(numbersIn(null)).toEqual([]);
    expect(numbersIn('{}')).toEqual([]);
    expect(numbersIn('{7}')).toEqual([7]);
    expect(numbersIn('{1,22,333}')).toEqual([1, 22, 333]);
  });

  test('of texts are read as they were written, whatever is in them', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }).map((one) => one.replaceAll('\0', '')),
      fc.constantFrom('', 'a', ',', '"', '\\', '\\"', '{}', 'NULL', ' ', '\n', '","'),
    );
    fc.assert(
      fc.property(fc.array(text), (texts) => {
        expect(textsIn(textArray(texts))).toEqual(texts);
      }),
    );
    expect(textsIn(null)).toEqual([]);
    expect(textsIn('{}')).toEqual([]);
    // The database leaves out the quotes where it can.
    expect(textsIn('{plain,"with, comma",x}')).toEqual(['plain', 'with, comma', 'x']);
  });
});

describe('a failed call', () => {
  const failed = (outcome: CallFailed['outcome'], sqlState?: string) =>
    new CallFailed(outcome, 'no', { sqlState });

  test('is a collision, worth another try, only if the database undid it for another transaction', () => {
    expect(failed('rolled_back', '40P01').isCollision).toBe(true);
    expect(failed('rolled_back', '40001').isCollision).toBe(true);
    expect(failed('unknown', '40001').isCollision).toBe(false);
    expect(failed('rolled_back', '57014').isCollision).toBe(false);
    expect(failed('rolled_back').isCollision).toBe(false);
  });

  test('is a mistake in its values only if the database refused those', () => {
    expect(failed('rolled_back', '22003').isMistake).toBe(true);
    expect(failed('rolled_back', '23505').isMistake).toBe(true);
    expect(failed('unknown', '23505').isMistake).toBe(false);
    expect(failed('rolled_back', '40001').isMistake).toBe(false);
    expect(failed('rolled_back').isMistake).toBe(false);
    expect(failed('not_sent')).toMatchObject({ name: 'CallFailed', message: 'no', sqlState: undefined });
  });
});
