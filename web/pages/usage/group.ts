import type { UsageCounts, UsageGroup, UsageReport } from '../../../src/console/contract.ts';

export const GROUPINGS = ['model', 'endpoint', 'day'] as const;
export type GroupBy = (typeof GROUPINGS)[number];

/** A line of the table: a group, all others together, or the total. */
export interface UsageLine {
  readonly key: string;
  readonly kind: 'group' | 'others' | 'total';
  readonly group?: UsageGroup;
  readonly counts: UsageCounts;
}

export function usageLines(
  groups: readonly UsageGroup[],
  others: UsageCounts | null,
  totals: UsageCounts,
): UsageLine[] {
  return [
    ...groups.map((group) => ({
      key: [group.day, group.endpoint, group.model].join('/'),
      kind: 'group' as const,
      group,
      counts: group,
    })),
    ...(others ? [{ key: 'others', kind: 'others' as const, counts: others }] : []),
    { key: 'total', kind: 'total', counts: totals },
  ];
}

/** By what the groups of a report are made; while another grouping is fetched, the one before stays. */
export function groupingOf({ groups: [first] }: UsageReport): GroupBy {
  if (!first || first.model !== null) return 'model';
  return first.day === null ? 'endpoint' : 'day';
}
