import { remembered } from '../std/remembered.ts';
import { MAX_BALANCE, nanoUsd, type NanoUsd } from '../std/money.ts';

/**
 * What a request will be charged by, copied into its hold at admission: later price changes never touch it, and any
 * past bill can be computed again from its receipt. Token prices are nano-USD per million tokens, so that the cheapest
 * published price (fractions of a cent per million) is still a whole number.
 */
export type Price =
  | { readonly kind: 'tokens'; readonly input: number; readonly cachedInput: number; readonly output: number }
  | { readonly kind: 'images'; readonly image: NanoUsd };

/** What was used. `input` includes `cached`; `output` includes `reasoning`. All are whole and not negative. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
  readonly images: number;
}

export const NO_USAGE: Usage = { input: 0, cached: 0, output: 0, reasoning: 0, images: 0 };

/** No count that meets a price may exceed this; larger ones from a client are refused, from a backend ignored. */
export const MAX_COUNT = 100_000_000;
/** 10,000 USD per million tokens. */
export const MAX_TOKEN_PRICE = 10_000_000_000_000;

const TOKENS_PER_PRICE = 1_000_000;

/** Price × usage in exact integers, rounded up once at the very end. */
export function costOf(price: Price, usage: Usage): NanoUsd {
  return price.kind === 'images'
    ? capped(BigInt(price.image) * BigInt(usage.images))
    : tokenCost(price, usage);
}

function tokenCost(price: Price & { kind: 'tokens' }, { input, cached, output }: Usage): NanoUsd {
  const quick = (input - cached) * price.input + cached * price.cachedInput + output * price.output;
  // Below 2^53 every term and the sum are exact; remainder and division of exact integers are, too.
  if (quick <= Number.MAX_SAFE_INTEGER && cached <= input) {
    const rest = quick % TOKENS_PER_PRICE;
    return nanoUsd((quick - rest) / TOKENS_PER_PRICE + (rest > 0 ? 1 : 0));
  }
  const exact =
    BigInt(input - cached) * BigInt(price.input) +
    BigInt(cached) * BigInt(price.cachedInput) +
    BigInt(output) * BigInt(price.output);
  return capped((exact + BigInt(TOKENS_PER_PRICE) - 1n) / BigInt(TOKENS_PER_PRICE));
}

/** The most output tokens that `available` can pay after the input, at this price. */
export function affordableOutput(price: Price, input: number, available: NanoUsd): number {
  if (price.kind !== 'tokens') return 0;
  const left = BigInt(available) * BigInt(TOKENS_PER_PRICE) - BigInt(input) * BigInt(dearestInput(price));
  if (left < 0n) return 0;
  if (price.output === 0) return MAX_COUNT;
  const tokens = left / BigInt(price.output);
  return tokens > BigInt(MAX_COUNT) ? MAX_COUNT : Number(tokens);
}

/** The worst case of a request: every input token at the dearer of the two input prices, every output token used. */
export function worstCase(price: Price, input: number, output: number, images: number): NanoUsd {
  if (price.kind === 'images') return costOf(price, { ...NO_USAGE, images });
  const dearest = { ...price, input: dearestInput(price), cachedInput: dearestInput(price) };
  return costOf(dearest, { ...NO_USAGE, input, output });
}

function dearestInput(price: Price & { kind: 'tokens' }): number {
  return Math.max(price.input, price.cachedInput);
}

/** A worst case beyond any balance is as unaffordable as one just above it. */
export const MAX_COST = nanoUsd(MAX_BALANCE * 8);

function capped(amount: bigint): NanoUsd {
  return amount > BigInt(MAX_COST) ? MAX_COST : nanoUsd(Number(amount));
}

/** Prices come from the catalog and few are in use; each is turned into text, and back, once. */
const texts = new WeakMap<Price, string>();
const MAX_PRICES = 1_000;

export function priceToText(price: Price): string {
  const known = texts.get(price);
  if (known !== undefined) return known;
  const text = JSON.stringify(price);
  texts.set(price, text);
  return text;
}

/** The text was written by {@link priceToText}. */
export const priceFromText = remembered((text) => JSON.parse(text) as Price, MAX_PRICES);
