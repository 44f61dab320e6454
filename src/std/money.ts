/**
 * Money is an integer number of nano-USD (10⁻⁹ USD), never a float of dollars. The brand prevents token counts, prices
 * and dollars from being mixed up. One account holds at most {@link MAX_BALANCE}, so every sum stays a safe integer.
 */
export type NanoUsd = number & { readonly __unit: 'nano-USD' };

export const NANO_PER_USD = 1_000_000_000;
export const ZERO = 0 as NanoUsd;
/** One million dollars: far above any account, far below 2^53 nano-USD. */
export const MAX_BALANCE = (1_000_000 * NANO_PER_USD) as NanoUsd;

/** The only conversion from a plain number; throws unless it is a non-negative safe integer. */
export function nanoUsd(value: number): NanoUsd {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an amount of nano-USD: ${value}`);
  return value as NanoUsd;
}

export function addNano(a: NanoUsd, b: NanoUsd): NanoUsd {
  return nanoUsd(a + b);
}

/** a − b, where the caller has made sure that b ≤ a. */
export function subtractNano(a: NanoUsd, b: NanoUsd): NanoUsd {
  return nanoUsd(a - b);
}

export function minNano(a: NanoUsd, b: NanoUsd): NanoUsd {
  return a < b ? a : b;
}

/**
 * Reads a decimal amount of dollars ("12.5", 0.000000001) exactly; more than nine decimals, signs, exponents and
 * anything above the largest balance are refused. A number goes through its shortest decimal text, so 0.1 means 0.1.
 */
export function parseUsd(text: string | number): NanoUsd | undefined {
  const plain = typeof text === 'number' ? decimalText(text) : text.trim();
  const match = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(plain);
  if (!match) return undefined;
  const whole = Number(match[1]) * NANO_PER_USD;
  const fraction = Number((match[2] ?? '').padEnd(9, '0'));
  const total = whole + fraction;
  return total <= MAX_BALANCE ? nanoUsd(total) : undefined;
}

const ZERO_DIGIT = 48;
const POINT = 46;
const DECIMALS = 9;
/** Room for the digits of any safe integer, and a point. */
const written = Buffer.alloc(24);

/**
 * Dollars as a plain decimal with at least two and at most nine decimals: 1500000000 → "1.50", 1 → "0.000000001". Every
 * answer has some, so they are written digit by digit: putting texts together would leave five of them behind.
 */
export function formatUsd(amount: NanoUsd): string {
  let end = written.length;
  let start = end;
  let rest: number = amount;
  for (let place = 0; place <= DECIMALS || rest > 0; place++) {
    if (place === DECIMALS) written[--start] = POINT;
    written[--start] = ZERO_DIGIT + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  const least = end - DECIMALS + 2;
  while (end > least && written[end - 1] === ZERO_DIGIT) end--;
  return written.toString('latin1', start, end);
}

/** For JSON numbers (`balance_usd`): exact for display; never computed with. */
export function toUsdNumber(amount: NanoUsd): number {
  return Number(formatUsd(amount));
}

function decimalText(value: number): string {
  if (!Number.isFinite(value)) return '';
  const text = String(value);
  if (!text.includes('e')) return text;
  // Small amounts print as 1e-9; an amount has at most nine decimals.
  return value >= 0 && value < 1 ? value.toFixed(9) : '';
}
