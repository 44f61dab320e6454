import { FACTOR_ONE } from '../../std/price-dimensions.ts';
import type { LongInputAmounts, TokenAmounts } from './price-list.ts';

/** `factor` in millionths. Each amount is rounded up to a nano-dollar, once, so that it never is below what was asked. */
export function markUp(amounts: TokenAmounts, factor: number): TokenAmounts {
  const { above, ...plain } = amounts;
  return {
    ...scaled(plain, factor),
    above:
      above &&
      Object.fromEntries(
        Object.entries(above).map(([tokens, tier]): [string, LongInputAmounts] => [
          tokens,
          scaled(tier, factor),
        ]),
      ),
  };
}

function scaled<Amounts extends object>(amounts: Amounts, factor: number): Amounts {
  const entries = Object.entries(amounts as Record<string, number | undefined>).map(([key, nano]) => [
    key,
    nano === undefined ? undefined : timesFactor(nano, factor),
  ]);
  // The same keys with other amounts.
  return Object.fromEntries(entries) as Amounts;
}

/** Rounded up to a nano-dollar. */
export function timesFactor(nano: number, factor: number): number {
  const one = BigInt(FACTOR_ONE);
  return Number((BigInt(nano) * BigInt(factor) + one - 1n) / one);
}
