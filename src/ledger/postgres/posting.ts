import { Fault } from '../../std/fault.ts';
import { randomPart } from '../../std/ids.ts';
import { MAX_BALANCE, nanoUsd, ZERO, type NanoUsd } from '../../std/money.ts';
import { storedFunction } from '../../store/stored-functions.ts';
import { balanceAfter, OVERRUN_ACCOUNT, OVERRUN_CEILING, redeemedEntry } from '../decide.ts';
import type { NewEntry, Reclaim, Reclaimed, Redeemed, Redemption } from '../port.ts';
import { lossKey, tooManyLosses } from '../reclaim.ts';
import { nowUsSql } from './admission-sql.ts';
import { unavailable } from './batch-queue.ts';
import { LOOK_UP_BY_KEY } from './planner-settings.ts';
import { CallFailed, type LedgerPool, type Statement } from './pool.ts';
import { LEDGER_POST } from './settlement-sql.ts';

/** Posts an entry once. After a broken connection nothing is guessed: the same key is simply sent again. */
export async function postEntry(
  session: LedgerPool,
  entry: NewEntry,
  offsetUs: number,
): Promise<{ entryId: number; balance: NanoUsd }> {
  checkAmount(entry);
  const { accountId, kind, amount, cause, actor } = entry;
  const once = entry.once ?? `post:${randomPart(ONCE_LENGTH)}`;
  const values = [
    offsetUs,
    MAX_BALANCE,
    accountId,
    kind,
    amount,
    once,
    cause,
    actor,
    entry.requestId ?? null,
  ];
  const row = await callAgain<PostRow>(session, POST, values);
  if (!row) throw noAccount();
  if (row.entry_id !== null) return { entryId: row.entry_id, balance: nanoUsd(row.balance) };
  balanceAfter({ balance: nanoUsd(row.balance), held: nanoUsd(row.held) }, entry);
  throw new Error('an entry within all bounds was refused');
}

export async function reclaimAmount(
  session: LedgerPool,
  { accountId, amount, once, cause, actor }: Reclaim,
  offsetUs: number,
): Promise<Reclaimed> {
  const limits = [offsetUs, OVERRUN_ACCOUNT, OVERRUN_CEILING];
  const values = [...limits, accountId, amount, once, lossKey(once), cause, actor];
  const row = await callAgain<ReclaimRow>(session, RECLAIM, values);
  if (!row) throw noAccount();
  if (row.lost === null) throw tooManyLosses();
  return { taken: nanoUsd(row.taken), lost: nanoUsd(row.lost) };
}

/** After a lost answer the code is not tried again: it may be used by now, and nobody could tell by whom. */
export async function redeemCode(
  session: LedgerPool,
  { codeHash, accountId, at }: Redemption,
  offsetUs: number,
): Promise<Redeemed | undefined> {
  const { once, cause, actor } = redeemedEntry(codeHash, '');
  const values = [offsetUs, MAX_BALANCE, accountId, once, cause, actor, codeHash, at];
  const [row] = await session.call<RedeemRow>(REDEEM, values).catch((error: unknown) => {
    throw error instanceof CallFailed ? unavailable(error.message, error) : error;
  });
  if (!row) return undefined;
  const amount = nanoUsd(row.amount);
  if (row.balance === null || row.held === null) throw noAccount();
  if (row.entry_id !== null) return { amount, balance: nanoUsd(row.balance) };
  balanceAfter({ balance: nanoUsd(row.balance), held: nanoUsd(row.held) }, { kind: 'credit', amount });
  throw new Error('a code within all bounds was refused');
}

const ONCE_LENGTH = 22;
const MOST_ATTEMPTS = 3;
const DUPLICATE_KEY = '23505';

const POST: Statement = {
  name: LEDGER_POST.name,
  text: `SELECT * FROM ${LEDGER_POST.name}($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

interface PostRow {
  readonly entry_id: number | null;
  readonly balance: number;
  readonly held: number;
}

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

const RECLAIM: Statement = {
  name: LEDGER_RECLAIM.name,
  text: `SELECT * FROM ${LEDGER_RECLAIM.name}($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

interface ReclaimRow {
  readonly taken: number;
  readonly lost: number | null;
}

/** A second redemption waits for the code's row, and then finds it used. */
const REDEEM: Statement = {
  name: 'ledger_redeem',
  text: `WITH code AS (
      SELECT c.amount, c.batch FROM redeem_code c
        WHERE c.code_hash = $7 AND c.redeemed_by IS NULL AND (c.expires_at IS NULL OR c.expires_at > $8)
        FOR NO KEY UPDATE
    ), posted AS (
      SELECT code.amount, p.* FROM code LEFT JOIN LATERAL
        ${LEDGER_POST.name}($1, $2, $3, 'credit', code.amount, $4, $5::text || code.batch, $6, NULL) AS p ON true
    ), marked AS (
      UPDATE redeem_code c SET redeemed_by = $3, redeemed_at = $8 FROM posted
        WHERE c.code_hash = $7 AND posted.entry_id IS NOT NULL
    )
    SELECT * FROM posted`,
};

interface RedeemRow {
  readonly amount: number;
  readonly entry_id: number | null;
  readonly balance: number | null;
  readonly held: number | null;
}

function noAccount(): Fault {
  return new Fault('invalid_field', 'There is no such account.', { param: 'account' });
}

async function callAgain<Row extends object>(
  session: LedgerPool,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await session.call<Row>(statement, values))[0];
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      // The same key at the same moment on another account: this call finds it there the second time.
      const worthIt = error.outcome === 'unknown' || error.sqlState === DUPLICATE_KEY;
      if (!worthIt || attempt === MOST_ATTEMPTS) throw unavailable(error.message, error);
    }
  }
}

/** Refuses amounts that no balance could allow, before they reach the database's number types. */
function checkAmount(entry: NewEntry): void {
  const enough = Number.isSafeInteger(entry.amount) ? Math.max(0, 0 - entry.amount) : 0;
  balanceAfter({ balance: nanoUsd(enough), held: ZERO }, entry);
}
