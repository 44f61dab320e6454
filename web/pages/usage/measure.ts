import type { UsageSaved } from '../../lib/answers.ts';
import { approximate, formatUsd } from '../../lib/money.ts';
import { formatCount } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';

type UsageCounts = Omit<UsageSaved, 'savedUsd'>;

export const MEASURES = ['spend', 'requests', 'tokens', 'images'] as const;
export type Measure = (typeof MEASURES)[number];

const VALUES: Record<Measure, (counts: UsageCounts) => number> = {
  spend: (counts) => approximate(counts.chargedUsd),
  requests: (counts) => counts.requests,
  tokens: (counts) => counts.inputTokens + counts.outputTokens,
  images: (counts) => counts.images,
};

export function measureOf(measure: Measure): (counts: UsageCounts) => number {
  return VALUES[measure];
}

export function useMeasureText(measure: Measure): (value: number) => string {
  const { i18n } = useTranslation();
  return (value) =>
    measure === 'spend' ? formatUsd(value.toFixed(9), i18n.language) : formatCount(value, i18n.language);
}
