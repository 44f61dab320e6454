import type { NanoUsd } from '../std/money.ts';
import { costSql, costOf, type Price, type Usage } from './price.ts';
import { HAS_EXTRA } from './verify-extra.ts';

/**
 * How much more a request would have cost had none of its input been cached: the difference of two bills, each rounded up
 * as bills are. Negative where cached input is the dearer one.
 */
export function cacheSaving(price: Price, usage: Usage): number {
  if (usage.cached === 0) return 0;
  const plain: NanoUsd = costOf(price, { ...usage, cached: 0 });
  return plain - costOf(price, usage);
}

const USED = { input: 'r.input_tokens', output: 'r.output_tokens', images: 'r.images' };

/** The same for a receipt `r` with the price `p`; 0 where SQL cannot compute it: see {@link CACHED_WITH_EXTRA}. */
export const CACHE_SAVING = `(CASE WHEN r.cached_tokens = 0 OR ${HAS_EXTRA} THEN 0
  ELSE ${costSql({ ...USED, cached: '0' })} - ${costSql({ ...USED, cached: 'r.cached_tokens' })} END)`;

/** Whether the program has to compute the saving of the receipt `r`. */
export const CACHED_WITH_EXTRA = `r.cached_tokens > 0 AND (${HAS_EXTRA})`;
