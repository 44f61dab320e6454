import { dayOf, monthOf } from '../std/calendar.ts';
import { requestIdAt } from '../std/ids.ts';
import { nanoUsd } from '../std/money.ts';
import type { AccountDay, ArchivableDay, ArchivableRequest, Archived } from './port.ts';

/**
 * How the receipts of an account's day are archived, the same on both stores. They leave in batches, each in one
 * transaction that adds them to the day's row of `archived_day`; the transaction that finds all of them gone books the
 * charge that stands for them. A day with few receipts is one transaction. A process that is killed in between leaves
 * an open row, and the next run continues with it.
 */
export async function archiveDay(
  store: ArchivingStore,
  { accountId, day }: AccountDay,
  together: number,
): Promise<Archived> {
  const span = spanOf(day);
  const found = await receiptsOf(store, accountId, span);
  if (found.kind === 'refused') return found;
  for (let after = found.fromId; ;) {
    const rows = await store.read<{ id: string }>(
      `SELECT id FROM receipt WHERE account_id = ? AND id > ? AND id < ? AND created_at >= ? AND created_at < ?
        ORDER BY id LIMIT ${together}`,
      [accountId, after, found.toId, span.fromMs, span.toMs],
    );
    const ids = rows.map(({ id }) => id);
    const left = await store.leave({ accountId, span, ids });
    if (left.kind === 'refused') return left;
    if (left.kind === 'archived')
      return { kind: 'archived', requests: left.requests, charged: nanoUsd(left.charged) };
    const last = ids.at(-1);
    // All receipts that were found are gone, but the sums say that there were more.
    if (last === undefined) return { kind: 'refused', reason: 'sums_differ' };
    after = last;
  }
}

/** What archiving needs from a store. */
export interface ArchivingStore {
  /** Runs beside requests, without blocking them. */
  read<Row>(sql: string, values: readonly (string | number)[]): Promise<Row[]>;
  /** One batch in one transaction. */
  leave(batch: ArchiveBatch): Promise<LeftBatch>;
}

export interface ArchiveBatch {
  readonly accountId: string;
  readonly span: DaySpan;
  readonly ids: readonly string[];
}

export type LeftBatch =
  | { readonly kind: 'more' }
  | { readonly kind: 'archived'; readonly requests: number; readonly charged: number }
  | { readonly kind: 'refused'; readonly reason: 'not_over' | 'open_hold' | 'archived_before' };

/** One UTC day: from `fromMs` inclusive to `toMs` exclusive. */
interface DaySpan {
  readonly day: number;
  readonly fromMs: number;
  readonly toMs: number;
}

const DAY_MS = 86_400_000;

export function spanOf(day: number): DaySpan {
  const fromMs = Date.UTC(Math.floor(day / 10_000), (Math.floor(day / 100) % 100) - 1, day % 100);
  return { day, fromMs, toMs: fromMs + DAY_MS };
}

/** Where the ids of a day's receipts are, or why the day cannot leave. */
type DayReceipts =
  | { readonly kind: 'found'; readonly fromId: string; readonly toId: string }
  | Extract<Archived, { kind: 'refused' }>;

/**
 * A request gets its id on arrival and its day on admission, by another clock. Where the two differ by more than this,
 * finding its receipt only takes longer.
 */
const SLACK_MS = 3_600_000;
const FIRST_ID = '';
const AFTER_ALL_IDS = 'req_~';

/**
 * A day leaves only as a whole: the number and the charges of its receipts must match its sums. Nearly all have ids of
 * their day; where some are missing, all receipts of the account are searched.
 */
async function receiptsOf(store: ArchivingStore, accountId: string, span: DaySpan): Promise<DayReceipts> {
  const [sums] = await store.read<DaySums>(SUMS, [accountId, span.day, accountId, span.day]);
  if (!sums || sums.requests === null) return { kind: 'refused', reason: 'no_requests' };
  if (sums.entry_id !== null) return { kind: 'refused', reason: 'archived_before' };
  const narrow = [requestIdAt(span.fromMs - SLACK_MS), requestIdAt(span.toMs + SLACK_MS)] as const;
  for (const [fromId, toId] of [narrow, [FIRST_ID, AFTER_ALL_IDS] as const]) {
    const [there] = await store.read<{ requests: number; charged: number }>(THERE, [
      accountId,
      fromId,
      toId,
      span.fromMs,
      span.toMs,
    ]);
    const requests = (there?.requests ?? 0) + (sums.gone_requests ?? 0);
    const charged = (there?.charged ?? 0) + (sums.gone_charged ?? 0);
    if (requests === sums.requests && charged === sums.charged) return { kind: 'found', fromId, toId };
  }
  return { kind: 'refused', reason: 'sums_differ' };
}

interface DaySums {
  readonly requests: number | null;
  readonly charged: number | null;
  readonly gone_requests: number | null;
  readonly gone_charged: number | null;
  readonly entry_id: number | null;
}

const SUMS = `SELECT u.requests, u.charged, a.requests AS gone_requests, a.charged AS gone_charged, a.entry_id
  FROM (SELECT CAST(SUM(requests) AS BIGINT) AS requests, CAST(SUM(charged) AS BIGINT) AS charged FROM usage_day
      WHERE account_id = ? AND day = ?) AS u
    LEFT JOIN archived_day a ON a.account_id = ? AND a.day = ?`;
const THERE = `SELECT COUNT(*) AS requests, CAST(COALESCE(SUM(charged), 0) AS BIGINT) AS charged FROM receipt
  WHERE account_id = ? AND id >= ? AND id < ? AND created_at >= ? AND created_at < ?`;

/** The charge that stands for a day's receipts. It is dated to the end of that day, so that statements stay in order. */
export function archiveEntry(accountId: string, { day, fromMs, toMs }: DaySpan) {
  return {
    once: `archive:${accountId}:${day}`,
    cause: `requests of ${new Date(fromMs).toISOString().slice(0, 10)}`,
    actor: 'retention',
    createdAt: toMs - 1,
  };
}

/**
 * The first day that stays with this many days of retention: the current month and the one before it stay whole,
 * because that is what people ask about.
 */
export function firstKeptDay(nowMs: number, keepDays: number): number {
  const month = monthOf(nowMs);
  const lastMonth = month % 100 === 1 ? month - 89 : month - 1;
  return Math.min(dayOf(nowMs - keepDays * DAY_MS), lastMonth * 100 + 1);
}

/** Days of accounts that have not left yet, the oldest first. */
export async function archivableDays(
  store: Pick<ArchivingStore, 'read'>,
  nowMs: number,
  { keepDays, after, limit }: ArchivableRequest,
): Promise<ArchivableDay[]> {
  const { day: afterDay, accountId: afterAccount } = after ?? { day: 0, accountId: '' };
  const rows = await store.read<{ account_id: string; day: number; requests: number; charged: number }>(
    `SELECT u.account_id, u.day, CAST(SUM(u.requests) AS BIGINT) AS requests, CAST(SUM(u.charged) AS BIGINT) AS charged
      FROM usage_day u
      WHERE u.account_id <> '' AND u.day < ? AND (u.day > ? OR u.day = ? AND u.account_id > ?)
        AND NOT EXISTS (SELECT 1 FROM archived_day a
          WHERE a.account_id = u.account_id AND a.day = u.day AND a.entry_id IS NOT NULL)
      GROUP BY u.account_id, u.day ORDER BY u.day, u.account_id LIMIT ?`,
    [firstKeptDay(nowMs, keepDays), afterDay, afterDay, afterAccount, limit],
  );
  return rows.map(({ account_id, day, requests, charged }) => ({
    // The owner of a sum is always an account.
    accountId: account_id as AccountDay['accountId'],
    day,
    requests,
    charged: nanoUsd(charged),
  }));
}
