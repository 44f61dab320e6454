import type { UsageReport, UsageSaved } from '../../lib/answers.ts';
import { approximate, formatUsd } from '../../lib/money.ts';
import { formatCount } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';

type UsageGroup = UsageReport['groups'][number];

export const GROUPINGS = ['model', 'endpoint', 'client', 'hour', 'day'] as const;
export type GroupBy = (typeof GROUPINGS)[number];

/** A line of the table: a group, all others together, or the total. */
export interface UsageLine {
  readonly key: string;
  readonly kind: 'group' | 'others' | 'total';
  readonly group?: UsageGroup;
  readonly counts: UsageSaved;
  /** How many groups the line of all others stands for, if that is known. */
  readonly groups?: number | undefined;
}

export function usageLines(
  groups: readonly UsageGroup[],
  others: UsageSaved | null,
  totals: UsageSaved,
): UsageLine[] {
  return [
    ...groups.map((group) => ({
      key: JSON.stringify([group.day, group.hour, group.endpoint, group.model, group.client]),
      kind: 'group' as const,
      group,
      counts: group,
    })),
    ...(others ? [{ key: 'others', kind: 'others' as const, counts: others }] : []),
    { key: 'total', kind: 'total', counts: totals },
  ];
}

/** How a report is grouped; while another grouping is fetched, the previous report is still shown. */
export function groupingOf({ groups: [first] }: UsageReport, wanted: GroupBy): GroupBy {
  if (!first) return wanted;
  if (first.model !== null) return 'model';
  return GROUPINGS.find((by) => first[by] !== null) ?? wanted;
}

/** How the chart is stacked for a grouping of the table. */
export function stackedBy(by: GroupBy): 'model' | 'endpoint' | 'client' {
  return by === 'endpoint' || by === 'client' ? by : 'model';
}

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
