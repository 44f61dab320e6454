import { formatUsd, nanoUsd } from '../std/money.ts';
import type { Model } from './catalog.ts';

/** A model's price in plain language, for previews and summaries. */
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
