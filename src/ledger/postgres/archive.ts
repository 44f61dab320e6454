import { storedFunction } from '../../store/stored-functions.ts';
import { archiveEntry, type ArchiveBatch, type LeftBatch } from '../archive.ts';
import { nowUsSql, LOOK_UP_BY_KEY } from './sql-fragments.ts';
import { textArray } from './batch.ts';
import type { Statement } from './pool.ts';

/**
 * One batch of a day's receipts leaves, with their tags; see src/ledger/archive.ts. The trigger on receipts adds up what leaves. Two nodes that
 * archive the same day wait for each other at its row. No account is locked: no balance changes. Whether the day is complete
 * is asked after it was seen that no hold of it is left, so no further receipt can come.
 */
export const LEDGER_ARCHIVE = storedFunction(`
CREATE FUNCTION ledger_archive(
  p_offset_us bigint, p_account text, p_day bigint, p_from bigint, p_to bigint, q_id text[], p_once text, p_cause text, p_actor text,
  p_created bigint, OUT verdict text, OUT gone_requests bigint, OUT gone_charged bigint
) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_day archived_day; v_requests bigint; v_charged bigint; v_entry bigint;
  v_wallet text := coalesce((SELECT m.wallet_id FROM account m WHERE m.id = p_account), p_account);
BEGIN
  IF p_to > (${nowUsSql('p_offset_us')}) / 1000 THEN verdict := 'not_over'; RETURN; END IF;
  IF EXISTS (SELECT 1 FROM hold h WHERE h.account_id = p_account AND h.created_at >= p_from AND h.created_at < p_to) THEN
    verdict := 'open_hold';
    RETURN;
  END IF;
  INSERT INTO archived_day (account_id, day) VALUES (p_account, p_day) ON CONFLICT DO NOTHING;
  SELECT * INTO v_day FROM archived_day a WHERE a.account_id = p_account AND a.day = p_day FOR UPDATE;
  IF v_day.entry_id IS NOT NULL THEN verdict := 'archived_before'; RETURN; END IF;
  WITH gone AS (
    DELETE FROM receipt r WHERE r.id = ANY (q_id) AND r.account_id = p_account AND r.created_at >= p_from AND r.created_at < p_to
    RETURNING r.id
  ) DELETE FROM request_tag t USING gone WHERE t.wallet_id = v_wallet AND t.request_id = gone.id;
  SELECT a.requests, a.charged INTO gone_requests, gone_charged FROM archived_day a
    WHERE a.account_id = p_account AND a.day = p_day;
  SELECT coalesce(sum(u.requests), 0), coalesce(sum(u.charged), 0) INTO v_requests, v_charged FROM usage_day u
    WHERE u.account_id = p_account AND u.day = p_day;
  IF gone_requests <> v_requests OR gone_charged <> v_charged THEN verdict := 'more'; RETURN; END IF;
  INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
    VALUES (v_wallet, 'charge', -gone_charged, p_once, p_cause, p_actor, p_created) RETURNING id INTO v_entry;
  UPDATE archived_day SET entry_id = v_entry WHERE account_id = p_account AND day = p_day;
  verdict := 'archived';
END $$`);

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
