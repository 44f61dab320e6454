import { storedFunction } from '../../store/stored-functions.ts';
import { nowUsSql } from './admission-sql.ts';
import { LOOK_UP_BY_KEY } from './planner-settings.ts';

/**
 * Takes back what an account has free, and books the rest as the operator's loss. Locks in the order of the settlements: the
 * overrun account, then the account. NULL as the loss: it would exceed the ceiling, and nothing was changed.
 */
export const LEDGER_RECLAIM = storedFunction(`
CREATE FUNCTION ledger_reclaim(
  p_offset_us bigint, p_overrun_account text, p_overrun_ceiling bigint, p_account text, p_amount bigint, p_once text,
  p_loss_once text, p_cause text, p_actor text
) RETURNS TABLE (taken bigint, lost bigint) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
  v_booked bigint; v_free bigint;
BEGIN
  SELECT a.balance INTO STRICT v_booked FROM account a WHERE a.id = p_overrun_account FOR NO KEY UPDATE;
  SELECT a.balance - a.held INTO v_free FROM account a WHERE a.id = p_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  taken := coalesce((SELECT -e.amount FROM entry e WHERE e.once = p_once), 0);
  lost := coalesce((SELECT e.amount FROM entry e WHERE e.once = p_loss_once), 0);
  IF taken + lost = 0 THEN
    taken := least(p_amount, v_free);
    lost := p_amount - taken;
    IF v_booked + lost > p_overrun_ceiling THEN
      lost := NULL;
      RETURN NEXT;
      RETURN;
    END IF;
    IF taken > 0 THEN
      INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
        VALUES (p_account, 'adjustment', -taken, p_once, p_cause, p_actor, v_now);
      UPDATE account SET balance = balance - taken WHERE id = p_account;
    END IF;
    IF lost > 0 THEN
      INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
        VALUES (p_overrun_account, 'adjustment', lost, p_loss_once, p_cause, p_actor, v_now);
      UPDATE account SET balance = balance + lost WHERE id = p_overrun_account;
    END IF;
  END IF;
  RETURN NEXT;
END $$`);
