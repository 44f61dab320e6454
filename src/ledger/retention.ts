import type { AccountDay, ArchivableDay, Archived, Ledger } from './port.ts';

interface RetentionRun {
  readonly days: number;
  readonly requests: number;
  /** Days that stay for now; the caller tells the operator. */
  readonly refused: readonly (AccountDay & { readonly reason: string })[];
}

/** How many days are asked for at once. */
const DAYS_AT_ONCE = 100;

/**
 * Archives every day that is older than the retention, one after the other. A run ends after `maxDays`, or when
 * `isOver` says so; the next one continues.
 */
export async function applyRetention(
  ledger: Pick<Ledger, 'archivable' | 'archive'>,
  keepDays: number,
  { maxDays = Infinity, isOver = () => false }: { maxDays?: number; isOver?: () => boolean } = {},
): Promise<RetentionRun> {
  const refused: (AccountDay & { reason: string })[] = [];
  let [tried, days, requests] = [0, 0, 0];
  for await (const day of daysToArchive(ledger, keepDays)) {
    if (tried++ >= maxDays || isOver()) break;
    const result: Archived = await ledger.archive(day);
    if (result.kind === 'archived') {
      days++;
      requests += result.requests;
    } else if (result.reason === 'open_hold' || result.reason === 'sums_differ') {
      refused.push({ accountId: day.accountId, day: day.day, reason: result.reason });
    }
  }
  return { days, requests, refused };
}

/** Every day that is older than the retention, the oldest first. */
export async function* daysToArchive(
  ledger: Pick<Ledger, 'archivable'>,
  keepDays: number,
): AsyncGenerator<ArchivableDay> {
  for (let after: AccountDay | undefined; ;) {
    const days = await ledger.archivable({ keepDays, after, limit: DAYS_AT_ONCE });
    yield* days;
    after = days.at(-1);
    if (days.length < DAYS_AT_ONCE) return;
  }
}
