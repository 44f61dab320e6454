import { archiveEntry, type ArchiveBatch, type LeftBatch } from '../archive.ts';
import type { LedgerTransaction } from './transaction.ts';

/** One batch of a day's receipts, with their tags, inside a batch's transaction. The trigger on receipts adds up what leaves. */
export function leave(transaction: LedgerTransaction, { accountId, span, ids }: ArchiveBatch): LeftBatch {
  const { statements, nowMs } = transaction;
  const { day, fromMs, toMs } = span;
  if (toMs > nowMs) return { kind: 'refused', reason: 'not_over' };
  if (statements.holdOfDay.get(accountId, fromMs, toMs)) return { kind: 'refused', reason: 'open_hold' };
  const before = statements.archivedDay.get(accountId, day);
  if (before?.entry_id) return { kind: 'refused', reason: 'archived_before' };
  if (!before) statements.openArchivedDay.run(accountId, day);
  const walletId = transaction.account(accountId)?.wallet.id ?? accountId;
  for (const id of ids)
    if (statements.deleteReceipt.run(id, accountId, fromMs, toMs).changes > 0)
      statements.deleteTags.run(walletId, id);
  const gone = statements.archivedDay.get(accountId, day);
  const sums = statements.daySums.get(accountId, day);
  if (!gone || !sums || gone.requests !== sums.requests || gone.charged !== sums.charged)
    return { kind: 'more' };
  const { once, cause, actor, createdAt } = archiveEntry(accountId, span);
  const { lastInsertRowid } = statements.insertEntry.run(
    walletId,
    'charge',
    gone.charged === 0 ? 0 : -gone.charged,
    null,
    once,
    cause,
    actor,
    createdAt,
  );
  statements.closeArchivedDay.run(Number(lastInsertRowid), accountId, day);
  return { kind: 'archived', requests: gone.requests, charged: gone.charged };
}
