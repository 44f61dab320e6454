import { TOKEN_ROWS } from '../../src/std/price-dimensions.ts';
import type { InvoiceLine } from './invoice.ts';

/**
 * The oracle: what an invoice costs at the prices of the catalog, in integers of its own. Nothing here calls the code
 * under test; the catalog gets the same decimals as text.
 */
export interface ModelPrices {
  readonly model: string;
  readonly endpoint:
    | 'svc_chat'
    | 'svc_claude'
    | 'svc_double'
    | 'svc_claude_double'
    | 'svc_embed'
    | 'svc_paint'
    | 'svc_hasty'
    | 'svc_claude_hasty';
  /** Dollars per million tokens, as decimals, and other keys of the catalog, as they stand there. */
  readonly keys: Readonly<Record<string, string>>;
  /** By size, and by size and quality, in dollars an image. */
  readonly image?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  /** Dollars each, of what is billed by its number, by the catalog's key; a request is one. */
  readonly each?: Readonly<Record<string, string>>;
  readonly serviceTiers?: Readonly<Record<string, string>>;
  readonly above?: { readonly tokens: number; readonly keys: Readonly<Record<string, string>> };
  /** Further settings of the model's entry. */
  readonly settings?: string;
}

const NANO_PER_USD = 1_000_000_000n;
const MILLION = 1_000_000n;

/** Rounded up once, at the end. */
export function amountOf(line: InvoiceLine, prices: ModelPrices): bigint {
  const { tokens, contextTokens } = line;
  const keys =
    prices.above && contextTokens > prices.above.tokens
      ? { ...prices.keys, ...prices.above.keys }
      : prices.keys;
  const price = (key: string): bigint => nano(keys[key] ?? fallback(key, keys));
  // In parts of a millionth of a nano-dollar.
  let sum = 0n;
  for (const [key, count] of Object.entries(tokens)) if (count > 0) sum += BigInt(count) * price(key);
  // A tier is a factor of the token prices alone.
  sum *= nano(prices.serviceTiers?.[line.serviceTier] ?? '1');
  const one = MILLION * NANO_PER_USD;
  for (const [key, each] of Object.entries(prices.each ?? {}))
    sum += BigInt(key === 'request' ? 1 : (line.counts[key] ?? 0)) * nano(each) * one;
  for (const { size, quality, count } of line.images)
    sum += BigInt(count) * imagePrice(prices, size, quality) * one;
  return (sum + one - 1n) / one;
}

/** The prices of what a model's entry does not name. */
function fallback(key: string, keys: Readonly<Record<string, string>>): string {
  const input = keys['input'] ?? '0';
  if (key === 'cache_write') return times(input, 125n, 100n);
  if (key === 'cache_write_1h') return times(input, 2n, 1n);
  const isOutput = TOKEN_ROWS.some((row) => row.key === key && row.side === 'output');
  return isOutput ? (keys['output'] ?? '0') : input;
}

function imagePrice({ image }: ModelPrices, size: string, quality: string): bigint {
  const bySize = image?.[size];
  return nano(typeof bySize === 'object' ? (bySize[quality] ?? '0') : (bySize ?? '0'));
}

function times(decimal: string, by: bigint, per: bigint): string {
  const product = nano(decimal) * by;
  if (product % per !== 0n) throw new Error(`${decimal} × ${by}/${per} is no whole number of nano-dollars`);
  const digits = (product / per).toString().padStart(10, '0');
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

/** A decimal of at most nine places as an integer of nano. */
export function nano(decimal: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,9}))?$/.exec(decimal);
  if (!match) throw new Error(`no decimal: ${decimal}`);
  const [, whole = '0', fraction = ''] = match;
  return BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(9, '0'));
}

export function dollars(amount: bigint): string {
  const digits = amount.toString().padStart(10, '0');
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
