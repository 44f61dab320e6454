import { archiveEntry, type ArchiveBatch, type LeftBatch } from '../archive.ts';
import { LEDGER_ARCHIVE } from './archive-sql.ts';
import { textArray } from './batch.ts';
import type { Statement } from './pool.ts';

export const ARCHIVE: Statement = {
  name: LEDGER_ARCHIVE.name,
  text: `SELECT * FROM ${LEDGER_ARCHIVE.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

export interface ArchiveRow {
  readonly verdict: 'more' | 'archived' | 'not_over' | 'open_hold' | 'archived_before';
  readonly gone_requests: number | null;
  readonly gone_charged: number | null;
}

export function archiveValues({ accountId, span, ids }: ArchiveBatch, offsetUs: number): unknown[] {
  const { once, cause, actor, createdAt } = archiveEntry(accountId, span);
  return [
    offsetUs,
    accountId,
    span.day,
    span.fromMs,
    span.toMs,
    textArray(ids),
    once,
    cause,
    actor,
    createdAt,
  ];
}

export function leftBatch(row: ArchiveRow | undefined): LeftBatch {
  if (!row) throw new Error('the database did not say what left');
  const { verdict, gone_requests, gone_charged } = row;
  switch (verdict) {
    case 'more':
      return { kind: 'more' };
    case 'archived':
      return { kind: 'archived', requests: gone_requests ?? 0, charged: gone_charged ?? 0 };
    case 'not_over':
    case 'open_hold':
    case 'archived_before':
      return { kind: 'refused', reason: verdict };
  }
}
