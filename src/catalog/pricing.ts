import { Fault } from '../std/fault.ts';
import type { NanoUsd } from '../std/money.ts';
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
