import { MAX_COST } from './priced-parts.ts';

/** Columns or expressions that say what was used. */
interface UsageSql {
  readonly input: string;
  readonly cached: string;
  readonly output: string;
  readonly images: string;
}

/**
 * Price × usage at the row `p` of `price`, rounded up once, as `costOf` computes it, in SQL that both databases understand.
 * A product may have more than 64 bits, so prices are cut into whole millionths and the rest: every part fits, and their
 * sum is exact.
 */
export function costSql({ input, cached, output, images }: UsageSql): string {
  const sum = (part: string): string =>
    `(${input} - ${cached}) * (p.input ${part}) + ${cached} * (p.cached_input ${part}) + ${output} * (p.output ${part})`;
  return `(${sum('/ 1000000')} + (${sum('% 1000000')} + 999999) / 1000000
    + CASE WHEN ${images} = 0 THEN 0 WHEN p.image > ${MAX_COST} / ${images} THEN ${MAX_COST} ELSE p.image * ${images} END)`;
}
