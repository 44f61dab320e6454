import type { UsageCounts, UsageRow } from '../../../src/console/contract.ts';
import { addUsd } from '../../lib/money.ts';

export type GroupBy = 'model' | 'endpoint' | 'day';

export interface UsageGroup {
  readonly key: string;
  readonly day?: string;
  readonly endpoint?: string;
  readonly model?: string;
  readonly total?: boolean;
  readonly counts: UsageCounts;
}

/** Rows of a day, endpoint and model, summed as requested; the most expensive first, days newest first. */
export function groupUsage(rows: readonly UsageRow[], by: GroupBy): UsageGroup[] {
  const groups = new Map<string, UsageGroup>();
  for (const row of rows) {
    const identity = identityOf(row, by);
    const key = Object.values(identity).join('/');
    const before = groups.get(key);
    groups.set(key, { key, ...identity, counts: before ? add(before.counts, row) : countsOf(row) });
  }
  const order =
    by === 'day'
      ? (a: UsageGroup, b: UsageGroup) => b.key.localeCompare(a.key)
      : (a: UsageGroup, b: UsageGroup) =>
          Number(b.counts.chargedUsd) - Number(a.counts.chargedUsd) || b.counts.requests - a.counts.requests;
  return [...groups.values()].sort(order);
}

function identityOf(row: UsageRow, by: GroupBy): Pick<UsageGroup, 'day' | 'endpoint' | 'model'> {
  if (by === 'day') return { day: row.day };
  if (by === 'endpoint') return { endpoint: row.endpoint };
  return { endpoint: row.endpoint, model: row.model };
}

function countsOf({ day: _day, endpoint: _endpoint, model: _model, ...counts }: UsageRow): UsageCounts {
  return counts;
}

function add(left: UsageCounts, right: UsageCounts): UsageCounts {
  return {
    requests: left.requests + right.requests,
    failures: left.failures + right.failures,
    inputTokens: left.inputTokens + right.inputTokens,
    cachedTokens: left.cachedTokens + right.cachedTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    reasoningTokens: left.reasoningTokens + right.reasoningTokens,
    images: left.images + right.images,
    chargedUsd: addUsd(left.chargedUsd, right.chargedUsd),
  };
}
