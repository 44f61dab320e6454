import { MAX_BALANCE, nanoUsd } from '../../std/money.ts';
import { storedFunction } from '../../store/stored-functions.ts';
import { BUDGET_SO_FAR } from '../budget.ts';
import { OVERRUN_ACCOUNT } from '../decide.ts';
import { balanceAfter, moveEntries } from '../entries.ts';
import type { BudgetChange, WalletMove } from '../port.ts';
import { daySql, nowUsSql, periodStartSql, LOOK_UP_BY_KEY } from './sql-fragments.ts';
import type { LedgerPool, Statement } from './pool.ts';
import { callAgain, moneyInRow, noAccount } from './posting.ts';
import { isRemoved } from './settlement-sql.ts';

/** Under the account's lock nothing is admitted or closed, so what is counted stays true. */
export const LEDGER_SET_BUDGET = storedFunction(`
CREATE FUNCTION ledger_set_budget(p_offset_us bigint, p_account text, p_budget bigint, p_per text, OUT is_there boolean)
LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
DECLARE
  v_from bigint := CASE WHEN p_budget IS NULL THEN 0 ELSE ${periodStartSql('p_per', `(${nowUsSql('p_offset_us')}) / 1000`)} END;
BEGIN
  UPDATE account SET budget = p_budget, budget_per = p_per, budget_from = v_from,
    budget_from_day = CASE WHEN v_from = 0 THEN 0 ELSE ${daySql('v_from')} END WHERE id = p_account;
  is_there := FOUND;
  UPDATE account a SET ${BUDGET_SO_FAR} WHERE a.id = p_account;
END $$`);

/**
 * The operator's account is locked first, so that a refund or dispute finds all that moved before it. Then both wallets in the
 * order of their ids. Nothing is moved where one of them would leave its bounds.
 */
export const LEDGER_MOVE = storedFunction(`
CREATE FUNCTION ledger_move(
  p_offset_us bigint, p_max_balance bigint, p_id text, p_from text, p_to text, p_amount bigint, p_out_once text, p_in_once text,
  p_out_cause text, p_in_cause text, p_actor text
) RETURNS TABLE (is_done boolean, from_balance bigint, from_held bigint, from_owed bigint, from_removed boolean,
  to_balance bigint, to_held bigint, to_owed bigint, to_removed boolean) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
DECLARE
  v_now bigint := (${nowUsSql('p_offset_us')}) / 1000;
BEGIN
  PERFORM 1 FROM account a WHERE a.id = '${OVERRUN_ACCOUNT}' FOR NO KEY UPDATE;
  PERFORM 1 FROM account a WHERE a.id IN (p_from, p_to) ORDER BY a.id FOR NO KEY UPDATE;
  SELECT a.balance, a.held, a.owed, ${isRemoved('a')} INTO from_balance, from_held, from_owed, from_removed
    FROM account a WHERE a.id = p_from;
  SELECT a.balance, a.held, a.owed, ${isRemoved('a')} INTO to_balance, to_held, to_owed, to_removed
    FROM account a WHERE a.id = p_to;
  is_done := EXISTS (SELECT 1 FROM entry e WHERE e.once = p_out_once);
  IF NOT is_done AND from_balance - p_amount >= from_held + from_owed AND to_balance + p_amount <= p_max_balance
    AND NOT to_removed THEN
    INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
      VALUES (p_from, 'adjustment', -p_amount, p_out_once, p_out_cause, p_actor, v_now),
        (p_to, 'adjustment', p_amount, p_in_once, p_in_cause, p_actor, v_now);
    UPDATE account SET balance = balance - p_amount WHERE id = p_from;
    UPDATE account SET balance = balance + p_amount WHERE id = p_to;
    INSERT INTO wallet_move (id, from_id, to_id, amount, created_at) VALUES (p_id, p_from, p_to, p_amount, v_now);
    is_done := true;
  END IF;
  RETURN NEXT;
END $$`);

const SET_BUDGET: Statement = {
  name: LEDGER_SET_BUDGET.name,
  text: `SELECT * FROM ${LEDGER_SET_BUDGET.name}($1, $2, $3, $4)`,
};

const MOVE: Statement = {
  name: LEDGER_MOVE.name,
  text: `SELECT * FROM ${LEDGER_MOVE.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
};

export async function changeBudget(
  session: LedgerPool,
  { accountId, budget }: BudgetChange,
  offsetUs: number,
): Promise<void> {
  const values = [offsetUs, accountId, budget?.amount ?? null, budget?.per ?? null];
  const row = await callAgain<{ readonly is_there: boolean }>(session, SET_BUDGET, values);
  if (!row?.is_there) throw noAccount();
}

export async function moveMoney(session: LedgerPool, wanted: WalletMove, offsetUs: number): Promise<void> {
  const [out, into] = moveEntries(wanted);
  const { id, fromId, toId, amount, actor } = wanted;
  const keys = [out.once, into.once, out.cause, into.cause, actor];
  const row = await callAgain<MoveRow>(session, MOVE, [
    offsetUs,
    MAX_BALANCE,
    id,
    fromId,
    toId,
    amount,
    ...keys,
  ]);
  if (!row || row.from_balance === null || row.to_balance === null) throw noAccount();
  if (row.is_done) return;
  const { from_balance, from_held, from_owed, from_removed, to_held, to_owed, to_removed, to_balance } = row;
  balanceAfter(moneyInRow({ balance: to_balance, held: to_held, owed: to_owed, removed: to_removed }), into);
  balanceAfter(
    moneyInRow({ balance: from_balance, held: from_held, owed: from_owed, removed: from_removed }),
    out,
  );
  throw new Error(`a move of ${nanoUsd(amount)} within all bounds was refused`);
}

interface MoveRow {
  readonly is_done: boolean;
  readonly from_balance: number | null;
  readonly from_held: number;
  readonly from_owed: number;
  readonly from_removed: boolean;
  readonly to_balance: number | null;
  readonly to_held: number;
  readonly to_owed: number;
  readonly to_removed: boolean;
}
