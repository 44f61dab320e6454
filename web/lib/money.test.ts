import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { axisTicks } from '../charts/size.ts';
import {
  addUsd,
  convert,
  formatExactUsd,
  formatUsd,
  formatUsdTick,
  multiply,
  parseUsd,
  usdParts,
} from './money.ts';
import { formatCompactTick } from './numbers.ts';

test('an exact amount reaches the screen with every digit it has', () => {
  expect(formatExactUsd('0.000042', 'en')).toBe('$0.000042');
  expect(formatExactUsd('1000000.000000001', 'en')).toBe('$1,000,000.000000001');
  expect(formatExactUsd('0.000000000000001', 'en')).toBe('$0.000000000000001');
  expect(formatExactUsd('-3.00', 'en')).toBe('-$3.00');
  expect(formatExactUsd('1234.5', 'de')).toBe('1.234,50\u00a0$');
});

test('what is available is never shown as more than it is', () => {
  const available = (amount: string): string => formatUsd(amount, 'en', { kind: 'available' });
  expect(available('9.999999999')).toBe('$9.99');
  expect(available('10')).toBe('$10.00');
  expect(available('0.004')).toBe('$0.00');
  expect(available('-0.001')).toBe('-$0.01');
  fc.assert(
    fc.property(anyNano, (value) => {
      const less = value - readBack(available(decimal(value)));
      expect(less >= 0n && less < 10_000_000n).toBe(true);
    }),
  );
});

test('a sum is shown in cents, rounded half to even', () => {
  const shown = {
    '0': '$0.00',
    '5.1': '$5.10',
    '0.005': '$0.00',
    '0.015': '$0.02',
    '0.025': '$0.02',
    '0.025000001': '$0.03',
    '1234.567': '$1,234.57',
    '-12.345': '-$12.34',
    '-12.355': '-$12.36',
  };
  for (const [amount, text] of Object.entries(shown))
    expect([amount, formatUsd(amount, 'en')]).toEqual([amount, text]);
});

test('a charge is shown with its cents, and beyond them with four significant digits', () => {
  const shown = {
    '0': '$0.00',
    '0.00': '$0.00',
    '5': '$5.00',
    '5.1': '$5.10',
    '5.12345': '$5.123',
    '12.346': '$12.35',
    '1234.567': '$1,234.57',
    '0.1': '$0.10',
    '0.00012345': '$0.0001234',
    '0.00012355': '$0.0001236',
    '0.000042': '$0.000042',
    '0.000000001': '$0.000000001',
    '0.99996': '$1.00',
    '-0.00012345': '-$0.0001234',
    '-12.346': '-$12.35',
  };
  for (const [amount, text] of Object.entries(shown))
    expect([amount, charge(amount)]).toEqual([amount, text]);
});

function charge(amount: string): string {
  return formatUsd(amount, 'en', { kind: 'charge' });
}

const nano = fc.bigInt({ min: 0n, max: 10n ** 16n });
/** Amounts of all magnitudes: uniform numbers are nearly all large. */
const anyNano = fc
  .tuple(nano, fc.integer({ min: 0, max: 16 }))
  .map(([value, drop]) => value / 10n ** BigInt(drop));

test('no charge is shown larger than a larger one, and only zero is shown as zero', () => {
  fc.assert(
    fc.property(fc.array(anyNano, { minLength: 1, maxLength: 8 }), (parts) => {
      const amounts = parts.map(decimal);
      const sum = readBack(charge(decimal(parts.reduce((left, right) => left + right))));
      for (const [index, amount] of amounts.entries()) {
        const part = readBack(charge(amount));
        expect(sum).toBeGreaterThanOrEqual(part);
        expect(part === 0n).toBe(parts[index] === 0n);
      }
    }),
  );
});

test('no shown charge is off by more than half of its fourth digit, or half a cent', () => {
  fc.assert(
    fc.property(anyNano, (value) => {
      const off = readBack(charge(decimal(value))) - value;
      const distance = off < 0n ? -off : off;
      expect(distance <= 5_000_000n).toBe(true);
      expect(distance * 2_000n <= value).toBe(true);
    }),
  );
});

test('the ticks of an axis are distinct, of amounts and of counts, in every language', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -9, max: 9 }),
      fc.double({ min: 1, max: 10, noNaN: true }),
      (power, factor) => {
        const ticks = axisTicks(factor * 10 ** power);
        const step = ticks[1] ?? 1;
        for (const language of ['en', 'de']) {
          const amounts = ticks.map((tick) => formatUsdTick(tick, step, language));
          expect(new Set(amounts).size).toBe(ticks.length);
          if (step < 1) continue;
          const counts = ticks.map((tick) => formatCompactTick(tick, step, language));
          expect(new Set(counts).size).toBe(ticks.length);
        }
      },
    ),
  );
});

function decimal(value: bigint): string {
  const text = value.toString().padStart(10, '0');
  return `${text.slice(0, -9)}.${text.slice(-9)}`;
}

/** What a reader sees, in nano-dollars. */
function readBack(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace(/[$,]/g, '').split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

test('cents and what lies beyond them are told apart in every language', () => {
  expect(usdParts('12.340042', 'en')).toEqual({ main: '$12.34', fine: '0042', tail: '' });
  expect(usdParts('12.340042', 'de')).toEqual({ main: '12,34', fine: '0042', tail: '\u00a0$' });
  expect(usdParts('5.00', 'en')).toEqual({ main: '$5.00', fine: '', tail: '' });
});

test('sums and products are exact where floats are not', () => {
  expect(addUsd('0.1', '0.2')).toBe('0.30');
  expect(addUsd('999999.999999999', '0.000000001')).toBe('1000000.000000000');
  expect(addUsd('-0.000000001', '0.00')).toBe('-0.000000001');
  expect(multiply('0.0105', 3)).toBe('0.0315');
  expect(convert('10.00', '0.92')).toBe('9.2000');
});

test('typed amounts are read with either decimal mark, and nothing else passes', () => {
  expect(parseUsd('5')).toBe('5.00');
  expect(parseUsd(' 2,5 ')).toBe('2.50');
  expect(parseUsd('$0.000000001')).toBe('0.000000001');
  expect(parseUsd('-1.25')).toBe('-1.25');
  for (const wrong of [
    '',
    'five',
    '1e3',
    '1.2.3',
    '1,000.00',
    '0.0000000001',
    '99999999',
    'Infinity',
    '--1',
  ]) {
    expect(parseUsd(wrong)).toBeUndefined();
  }
});
