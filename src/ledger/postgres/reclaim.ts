import { MAX_BALANCE, nanoUsd } from '../../std/money.ts';
import { storedFunction } from '../../store/stored-functions.ts';
import { OVERRUN_ACCOUNT, OVERRUN_CEILING } from '../decide.ts';
import { balanceAfter } from '../entries.ts';
import type { GivenBack, Reclaim, Reclaimed } from '../port.ts';
import { laterKey, lossKey, returnedKey, tooManyLosses } from '../reclaim.ts';
import { nowUsSql } from './calendar-sql.ts';
import { LOOK_UP_BY_KEY } from './planner-settings.ts';
import type { LedgerPool, Statement } from './pool.ts';
import { callAgain, moneyInRow, noAccount } from './posting.ts';
import { isRemoved } from './settlement-sql.ts';

export async function reclaimAmount(
  session: LedgerPool,
  { accountId, amount, once, cause, actor }: Reclaim,
  offsetUs: number,
): Promise<Reclaimed> {
  const limits = [offsetUs, OVERRUN_ACCOUNT, OVERRUN_CEILING];
  const values = [...limits, accountId, amount, once, laterKey(once), lossKey(once), cause, actor];
  const row = await callAgain<ReclaimRow>(session, RECLAIM, values);
  if (!row) throw noAccount();
  if (row.lost === null) throw tooManyLosses();
  return { taken: nanoUsd(row.taken), lost: nanoUsd(row.lost), owed: nanoUsd(row.owed) };
}

export async function giveBackAmount(
  session: LedgerPool,
  { accountId, once, cause, actor }: Omit<Reclaim, 'amount'>,
  offsetUs: number,
): Promise<GivenBack | undefined> {
  const keys = [once, laterKey(once), lossKey(once), returnedKey(once), returnedKey(lossKey(once))];
  const values = [offsetUs, MAX_BALANCE, OVERRUN_ACCOUNT, accountId, ...keys, cause, actor];
  const row = await callAgain<GiveBackRow>(session, GIVE_BACK, values);
  if (!row) throw noAccount();
  if (row.result === 'nothing') return undefined;
  if (row.result === 'refused') balanceAfter(moneyInRow(row), { kind: 'adjustment', amount: row.taken });
  return { taken: nanoUsd(row.taken), lost: nanoUsd(row.lost) };
}

/**
 * `reclaimShares` of src/ledger/reclaim.ts, and what follows from it. Locks in the order of the settlements: the overrun
 * account, then the account. NULL as the loss: it would exceed the ceiling, and nothing was changed.
 */
export const LEDGER_RECLAIM = storedFunction(`
CREATE FUNCTION ledger_reclaim(
  p_offset_us bigint, p_overrun_account text, p_overrun_ceiling bigint, p_account text, p_amount bigint, p_once text,
  p_later_once text, p_loss_once text, p_cause text, p_actor text
) RETURNS TABLE (taken bigint, lost bigint, owed bigint) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
  v_booked bigint; v_balance bigint; v_held bigint; v_owed bigint; v_is_owed boolean; v_missing bigint; v_taken bigint;
  v_rest bigint; v_lost bigint := 0;
BEGIN
  SELECT a.balance INTO STRICT v_booked FROM account a WHERE a.id = p_overrun_account FOR NO KEY UPDATE;
  SELECT a.balance, a.held, a.owed INTO v_balance, v_held, v_owed FROM account a WHERE a.id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  ${soFar()}
  v_is_owed := owed IS NOT NULL;
  v_missing := coalesce(owed, p_amount);
  owed := coalesce(owed, 0);
  IF owed = 0 AND (v_is_owed OR taken + lost > 0) THEN RETURN NEXT; RETURN; END IF;
  v_taken := least(v_missing, greatest(0, v_balance - v_held - v_owed + owed));
  v_rest := v_missing - v_taken;
  IF v_booked + v_rest > p_overrun_ceiling THEN
    lost := NULL;
    RETURN NEXT;
    RETURN;
  END IF;
  IF v_rest > 0 AND v_held > 0 THEN
    IF v_is_owed THEN RETURN NEXT; RETURN; END IF;
    INSERT INTO debt (once, account_id, owed, created_at) VALUES (p_once, p_account, v_rest, v_now);
    owed := v_rest;
  ELSE
    v_lost := v_rest;
    UPDATE debt SET owed = 0 WHERE once = p_once;
    owed := 0;
  END IF;
  UPDATE account a SET balance = a.balance - v_taken, owed = CASE WHEN v_is_owed THEN a.owed - v_missing
    WHEN v_held > 0 THEN a.owed + v_rest ELSE a.owed END WHERE a.id = p_account;
  UPDATE account a SET balance = a.balance + v_lost WHERE a.id = p_overrun_account AND v_lost > 0;
  INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
    SELECT e.account, 'adjustment', e.amount, e.once, p_cause, p_actor, v_now
    FROM (VALUES (p_account, -v_taken, CASE WHEN v_is_owed THEN p_later_once ELSE p_once END),
      (p_overrun_account, v_lost, p_loss_once)) AS e (account, amount, once) WHERE e.amount <> 0;
  taken := taken + v_taken;
  lost := lost + v_lost;
  RETURN NEXT;
END $$`);

/** Undoes what was reclaimed. Locks as above. */
export const LEDGER_GIVE_BACK = storedFunction(`
CREATE FUNCTION ledger_give_back(
  p_offset_us bigint, p_max_balance bigint, p_overrun_account text, p_account text, p_once text, p_later_once text,
  p_loss_once text, p_returned_once text, p_loss_returned_once text, p_cause text, p_actor text
) RETURNS TABLE (result text, taken bigint, lost bigint, balance bigint, held bigint, owed bigint, removed boolean)
LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
  v_debt bigint;
BEGIN
  PERFORM 1 FROM account a WHERE a.id = p_overrun_account FOR NO KEY UPDATE;
  PERFORM 1 FROM account a WHERE a.id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  ${soFar()}
  v_debt := owed;
  SELECT a.balance, a.held, a.owed, ${isRemoved('a')} INTO balance, held, owed, removed FROM account a
    WHERE a.id = p_account;
  result := CASE WHEN v_debt IS NULL AND taken + lost = 0 THEN 'nothing'
    WHEN EXISTS (SELECT 1 FROM entry e WHERE e.once IN (p_returned_once, p_loss_returned_once))
      OR EXISTS (SELECT 1 FROM debt d WHERE d.once = p_once AND d.returned > 0) THEN 'earlier'
    WHEN taken > 0 AND (removed OR balance + taken > p_max_balance) THEN 'refused' ELSE 'done' END;
  IF result = 'done' THEN
    UPDATE debt SET owed = 0, returned = v_debt WHERE once = p_once AND owed > 0;
    UPDATE account a SET balance = a.balance + taken, owed = a.owed - coalesce(v_debt, 0) WHERE a.id = p_account;
    UPDATE account a SET balance = a.balance - lost WHERE a.id = p_overrun_account AND lost > 0;
    INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
      SELECT e.account, 'adjustment', e.amount, e.once, p_cause, p_actor, v_now
      FROM (VALUES (p_account, taken, p_returned_once), (p_overrun_account, -lost, p_loss_returned_once))
        AS e (account, amount, once) WHERE e.amount <> 0;
  END IF;
  RETURN NEXT;
END $$`);

/** What was done with the key until now; `owed` is NULL where there was nothing to wait for. */
function soFar(): string {
  return `taken := coalesce((SELECT -sum(e.amount) FROM entry e WHERE e.once IN (p_once, p_later_once)), 0);
  lost := coalesce((SELECT e.amount FROM entry e WHERE e.once = p_loss_once), 0);
  owed := (SELECT d.owed FROM debt d WHERE d.once = p_once);`;
}

const RECLAIM: Statement = {
  name: LEDGER_RECLAIM.name,
  text: `SELECT * FROM ${LEDGER_RECLAIM.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

const GIVE_BACK: Statement = {
  name: LEDGER_GIVE_BACK.name,
  text: `SELECT * FROM ${LEDGER_GIVE_BACK.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
};

interface ReclaimRow {
  readonly taken: number;
  readonly lost: number | null;
  readonly owed: number;
}

interface GiveBackRow {
  readonly result: 'done' | 'earlier' | 'nothing' | 'refused';
  readonly taken: number;
  readonly lost: number;
  readonly balance: number;
  readonly held: number;
  readonly owed: number;
  readonly removed: boolean;
}
