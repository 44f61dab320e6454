import { Fault } from '../std/fault.ts';
import { formatUsd, nanoUsd, type NanoUsd } from '../std/money.ts';
import type { Model } from './catalog.ts';

/** What the ledger copies into a hold. Token prices are nano-USD per million tokens. */
export type PriceSnapshot =
  | { readonly kind: 'tokens'; readonly input: number; readonly cachedInput: number; readonly output: number }
  | { readonly kind: 'images'; readonly image: NanoUsd };

/** The price of one request; for images, of one image in this size (the model's first when none is given). */
export function priceFor(model: Model, size?: string): PriceSnapshot {
  if (model.price.kind === 'tokens') {
    const { input, cachedInput, output } = model.price;
    return { kind: 'tokens', input, cachedInput, output };
  }
  const wanted = size ?? model.sizes[0];
  const image =
    wanted !== undefined && model.sizes.includes(wanted)
      ? (model.price.bySize.get(wanted) ?? model.price.otherwise)
      : undefined;
  if (image === undefined) {
    throw new Fault('invalid_field', `size must be one of ${model.sizes.join(', ')}.`, { param: 'size' });
  }
  return { kind: 'images', image };
}

/** A model's price in words, for previews and summaries. */
export function priceLabel({ price, free }: Model): string {
  if (free) return 'free';
  if (price.kind === 'tokens') {
    const amounts = [price.input, price.cachedInput, price.output].map((amount) =>
      formatUsd(nanoUsd(amount)),
    );
    return `${amounts[0]} in, ${amounts[1]} cached, ${amounts[2]} out (USD per million tokens)`;
  }
  const sizes = [...price.bySize].map(([size, amount]) => `${size}: ${formatUsd(amount)}`);
  const otherwise = price.otherwise === undefined ? [] : [formatUsd(price.otherwise)];
  return `${[...sizes, ...otherwise].join(', ')} (USD per image)`;
}
