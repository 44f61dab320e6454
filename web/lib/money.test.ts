import { expect, test } from 'bun:test';
import { addUsd, convert, formatUsd, multiply, parseUsd, usdParts } from './money.ts';

test('amounts reach the screen with every digit they have', () => {
  expect(formatUsd('0.000042', 'en')).toBe('$0.000042');
  expect(formatUsd('1000000.000000001', 'en')).toBe('$1,000,000.000000001');
  expect(formatUsd('0.000000000000001', 'en')).toBe('$0.000000000000001');
  expect(formatUsd('-3.00', 'en')).toBe('-$3.00');
  expect(formatUsd('1234.5', 'de')).toBe('1.234,50\u00a0$');
});

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
