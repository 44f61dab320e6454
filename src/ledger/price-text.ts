import type { Price } from './price.ts';

/** Prices come from the catalog and few are in use; each is turned into text, and back, once. */
const texts = new WeakMap<Price, string>();
const prices = new Map<string, Price>();
const MAX_PRICES = 1_000;

export function priceToText(price: Price): string {
  const known = texts.get(price);
  if (known !== undefined) return known;
  const text = JSON.stringify(price);
  texts.set(price, text);
  return text;
}

export function priceFromText(text: string): Price {
  const known = prices.get(text);
  if (known) return known;
  // The column is written by priceText alone.
  const price = JSON.parse(text) as Price;
  if (prices.size >= MAX_PRICES) prices.clear();
  prices.set(text, price);
  return price;
}
