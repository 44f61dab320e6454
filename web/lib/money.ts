import { formatters } from './numbers.ts';
import type { Usd } from '../../src/console/contract.ts';

const SIGNIFICANT = 4;
const CENTS = 2;

/**
 * What an amount is decides how it is rounded. What is `available` is never shown as more than it is; a `charge` of a
 * single request is often less than a cent; every other amount is a `sum`.
 */
export type AmountKind = 'available' | 'sum' | 'charge';

/**
 * An amount as all pages show it: in cents, what is available rounded down and a sum to the nearest, half to even; a
 * charge with more digits until four of them are significant. Show the exact amount beside it: see `Money`.
 */
export function formatUsd(amount: Usd, language: string, options: UsdOptions = {}): string {
  return formatter(language, options).format(literal(shownUsd(amount, options.kind)));
}

/** Every digit: for receipts, prices, and amounts that somebody types, confirms or may not exceed. */
export function formatExactUsd(amount: Usd, language: string, options: UsdOptions = {}): string {
  return formatter(language, options).format(literal(amount));
}

/** Rounded by the rule of {@link formatUsd}. Amounts arrive as exact decimal text and never become a float. */
export function shownUsd(amount: Usd, kind: AmountKind = 'sum'): Usd {
  const { digits, places } = scaled(literal(amount));
  const kept = kind === 'charge' ? placesOfCharge(digits, places) : CENTS;
  if (digits === 0n || places <= kept) return amount;
  const unit = 10n ** BigInt(places - kept);
  const below = floored(digits, unit);
  return unscaled(
    kind === 'available' ? below : below + halfToEven(digits - below * unit, unit, below),
    kept,
  );
}

function placesOfCharge(digits: bigint, places: number): number {
  const size = (digits < 0n ? -digits : digits).toString();
  return Math.max(CENTS, SIGNIFICANT - (size.length - places));
}

function floored(digits: bigint, unit: bigint): bigint {
  const quotient = digits / unit;
  return digits < 0n && quotient * unit !== digits ? quotient - 1n : quotient;
}

/** 1 if the rest of a division leads to the next unit, else 0. */
function halfToEven(rest: bigint, unit: bigint, below: bigint): bigint {
  const isUp = rest * 2n > unit || (rest * 2n === unit && below % 2n !== 0n);
  return isUp ? 1n : 0n;
}

/** A tick of an axis, with as many digits as its step, so that no two ticks look the same. */
export function formatUsdTick(value: number, step: number, language: string): string {
  const places = Math.min(MOST_PLACES, Math.max(CENTS, Math.ceil(-Math.log10(step) - 1e-9)));
  return formatter(language, {}).format(literal(value.toFixed(places)));
}

const MOST_PLACES = 15;

/** The text of an amount in pieces: to the cent, the digits beyond it (shown fainter), and what follows them. */
export function usdParts(
  amount: Usd,
  language: string,
  sign = false,
): { main: string; fine: string; tail: string } {
  let main = '';
  let fine = '';
  let tail = '';
  for (const { type, value } of formatter(language, { sign }).formatToParts(literal(amount))) {
    if (type === 'fraction') {
      main += value.slice(0, CENTS);
      fine = value.slice(CENTS);
    } else if (fine === '') main += value;
    else tail += value;
  }
  return { main, fine, tail };
}

interface UsdOptions {
  readonly kind?: AmountKind;
  readonly sign?: boolean;
  /** Another currency's code, for amounts already converted. */
  readonly currency?: string;
}

/** An amount in the operator's display currency, exact; rounding is left to the formatter. */
export function convert(amount: Usd, perUsd: string): string {
  const left = scaled(amount);
  const right = scaled(perUsd);
  return unscaled(left.digits * right.digits, left.places + right.places);
}

/** Reads an amount of dollars as typed; accepts both decimal marks. Undefined if it is not an amount. */
export function parseUsd(text: string): Usd | undefined {
  const match = /^(-?)\$?\s*(\d{1,7})(?:[.,](\d{1,9}))?\s*\$?$/.exec(text.trim());
  if (!match) return undefined;
  return `${match[1] ?? ''}${match[2] ?? ''}.${(match[3] ?? '').padEnd(2, '0')}`;
}

/** For charts and comparisons only: never shown, never sent. */
export function approximate(amount: Usd): number {
  return Number(amount);
}

/** Quantity × amount as exact text, e.g. images × price each. */
export function multiply(amount: Usd, quantity: number): Usd {
  return convert(amount, String(quantity));
}

export function addUsd(left: Usd, right: Usd): Usd {
  const a = scaled(left);
  const b = scaled(right);
  const places = Math.max(a.places, b.places, 2);
  return unscaled(
    a.digits * 10n ** BigInt(places - a.places) + b.digits * 10n ** BigInt(places - b.places),
    places,
  );
}

function scaled(decimal: string): { digits: bigint; places: number } {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return { digits: BigInt(whole + fraction), places: fraction.length };
}

function unscaled(digits: bigint, places: number): string {
  const text = (digits < 0n ? -digits : digits).toString().padStart(places + 1, '0');
  const fraction = places > 0 ? `.${text.slice(text.length - places)}` : '';
  return `${digits < 0n ? '-' : ''}${text.slice(0, text.length - places)}${fraction}`;
}

/** Intl formats decimal text exactly; anything else must not reach it. */
function literal(amount: string): `${number}` {
  return (/^-?\d+(\.\d+)?$/.test(amount) ? amount : '0') as `${number}`;
}

const formatter = formatters(
  (language, { sign, currency = 'USD' }: UsdOptions) =>
    new Intl.NumberFormat(language, {
      style: 'currency',
      currency,
      currencyDisplay: 'narrowSymbol',
      minimumFractionDigits: CENTS,
      maximumFractionDigits: MOST_PLACES,
      ...(sign ? { signDisplay: 'exceptZero' as const } : {}),
    }),
);
