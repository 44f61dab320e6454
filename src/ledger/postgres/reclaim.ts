import type { AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { OVERRUN_ACCOUNT } from '../decide.ts';
import { MOST_FOLLOWED, type Moved } from '../money-trail.ts';
import type { GivenBack, Reclaim, Reclaimed } from '../port.ts';
import {
  planGiveBack,
  planReclaim,
  reclaimKeys,
  type Debt,
  type ReclaimState,
  type ReclaimWrites,
} from '../reclaim-plan.ts';
import { collectedPrefix, debtKey } from '../reclaim.ts';
import { plainArray, textArray } from './batch.ts';
import { nowUsSql } from './sql-fragments.ts';
import type { LedgerPool, Statement } from './pool.ts';
import { askedAgain, moneyInRow, noAccount, type MoneyRow } from './posting.ts';
import { isRemoved } from './settlement-sql.ts';

export async function reclaimAmount(pool: LedgerPool, wanted: Reclaim, offsetUs: number): Promise<Reclaimed> {
  return await planned(pool, wanted, offsetUs, (state) => planReclaim(state, wanted));
}

export async function giveBackAmount(
  pool: LedgerPool,
  wanted: Omit<Reclaim, 'amount'>,
  offsetUs: number,
): Promise<GivenBack | undefined> {
  return await planned(pool, wanted, offsetUs, (state) => planGiveBack(state, wanted));
}

type Session = Pick<LedgerPool, 'call'>;

async function planned<Result>(
  pool: LedgerPool,
  wanted: Omit<Reclaim, 'amount'>,
  offsetUs: number,
  plan: (state: ReclaimState) => { readonly result: Result; readonly writes?: ReclaimWrites },
): Promise<Result> {
  return await askedAgain(() =>
    pool.transaction(async (session) => {
      const { result, writes } = plan(await readBooks(session, wanted));
      if (writes) await write(session, writes, offsetUs);
      return result;
    }),
  );
}

/**
 * Locks in the order of the settlements: the operator's account, then all others by their ids. Moves lock the operator's
 * account too, so where the money went stays what was read.
 */
async function readBooks(
  session: Session,
  { accountId: payer, once, creditOnce }: Omit<Reclaim, 'amount'>,
): Promise<ReclaimState> {
  const [operator] = await session.call<MoneyRow>(LOCK, [textArray([OVERRUN_ACCOUNT])]);
  const reached = await session.call<ReachedRow>(REACHED, [payer, creditOnce ?? null]);
  const ids = reached.map(({ id }) => id);
  const list = textArray(ids);
  const rows = await session.call<MoneyRow & ReachedRow>(LOCK, [list]);
  const wallets = new Map(rows.map((row) => [row.id, moneyInRow(row)]));
  if (!operator || !wallets.has(payer)) throw noAccount();
  const since = reached[0]?.since ?? 0;
  const keys = ids.map((id) => debtKey(once, payer, id));
  const [entries, debts, moved, collected] = [
    await session.call<{ once: string; amount: number }>(ENTRIES, [textArray(reclaimKeys(once))]),
    await session.call<Debt>(DEBTS, [textArray(keys)]),
    await session.call<Moved>(MOVED, [list, since]),
    await session.call<Moved>(COLLECTED, [list, collectedPrefix(once)]),
  ];
  const amounts = new Map(entries.map((entry) => [entry.once, entry.amount]));
  return { losses: nanoUsd(operator.balance), wallets, amounts, debts, moved, collected };
}

async function write(session: Session, writes: ReclaimWrites, offsetUs: number): Promise<void> {
  const { entries, moves, newDebts, endedDebts } = writes;
  const changes = [...writes.changes];
  await session.call(ADD_ENTRIES, [
    offsetUs,
    textArray(entries.map(({ accountId }) => accountId)),
    textArray(entries.map(({ kind }) => kind)),
    plainArray(entries.map(({ amount }) => amount)),
    textArray(entries.map(({ once }) => once)),
    textArray(entries.map(({ cause }) => cause)),
    textArray(entries.map(({ actor }) => actor)),
  ]);
  await session.call(ADD_MOVES, [
    offsetUs,
    textArray(moves.map(({ id }) => id)),
    textArray(moves.map(({ fromId }) => fromId)),
    textArray(moves.map(({ toId }) => toId)),
    plainArray(moves.map(({ amount }) => amount)),
  ]);
  await session.call(ADD_DEBTS, [
    offsetUs,
    textArray(newDebts.map(({ once }) => once)),
    textArray(newDebts.map(({ accountId }) => accountId)),
    plainArray(newDebts.map(({ owed }) => owed)),
  ]);
  await session.call(END_DEBTS, [
    textArray(endedDebts.map(({ once }) => once)),
    plainArray(endedDebts.map(({ returned }) => returned)),
  ]);
  await session.call(CHANGE_ACCOUNTS, [
    textArray(changes.map(([id]) => id)),
    plainArray(changes.map(([, { balance }]) => balance)),
    plainArray(changes.map(([, { owed }]) => owed)),
  ]);
}

interface ReachedRow {
  readonly id: AccountId;
  /** When the payment was credited: what moved before was other money. */
  readonly since: number;
}

const NOW = `(${nowUsSql('$1::bigint')}) / 1000`;

const LOCK: Statement = {
  name: 'ledger_lock_wallets',
  text: `SELECT a.id, a.balance, a.held, a.owed, ${isRemoved('a')} AS removed FROM account a
    WHERE a.id = ANY ($1::text[]) ORDER BY a.id FOR NO KEY UPDATE`,
};

const REACHED: Statement = {
  name: 'ledger_reached',
  text: `WITH RECURSIVE paid (since) AS (SELECT coalesce((SELECT e.created_at FROM entry e WHERE e.once = $2), 0)),
    reached (id) AS (SELECT $1::text UNION SELECT m.to_id FROM reached r
      JOIN wallet_move m ON m.from_id = r.id AND m.created_at >= (SELECT since FROM paid))
    SELECT reached.id, paid.since FROM reached, paid LIMIT ${MOST_FOLLOWED}`,
};

const ENTRIES: Statement = {
  name: 'ledger_reclaimed_entries',
  text: 'SELECT e.once, e.amount FROM entry e WHERE e.once = ANY ($1::text[])',
};

const DEBTS: Statement = {
  name: 'ledger_debts',
  text: `SELECT d.once, d.account_id AS "accountId", d.owed, d.returned FROM debt d WHERE d.once = ANY ($1::text[])
    ORDER BY d.once`,
};

const MOVED: Statement = {
  name: 'ledger_moved',
  text: `SELECT m.from_id AS "fromId", m.to_id AS "toId", sum(m.amount)::bigint AS amount FROM wallet_move m
    WHERE m.from_id = ANY ($1::text[]) AND m.created_at >= $2::bigint GROUP BY m.from_id, m.to_id`,
};

const COLLECTED: Statement = {
  name: 'ledger_collected',
  text: `SELECT m.from_id AS "fromId", m.to_id AS "toId", sum(m.amount)::bigint AS amount FROM wallet_move m
    WHERE m.to_id = ANY ($1::text[]) AND starts_with(m.id, $2::text) GROUP BY m.from_id, m.to_id`,
};

const ADD_ENTRIES: Statement = {
  name: 'ledger_add_entries',
  text: `INSERT INTO entry (account_id, kind, amount, once, cause, actor, created_at)
    SELECT e.*, ${NOW} FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[]) AS e`,
};

const ADD_MOVES: Statement = {
  name: 'ledger_add_moves',
  text: `INSERT INTO wallet_move (id, from_id, to_id, amount, created_at)
    SELECT m.*, ${NOW} FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS m`,
};

const ADD_DEBTS: Statement = {
  name: 'ledger_add_debts',
  text: `INSERT INTO debt (once, account_id, owed, created_at)
    SELECT d.*, ${NOW} FROM unnest($2::text[], $3::text[], $4::bigint[]) AS d`,
};

const END_DEBTS: Statement = {
  name: 'ledger_end_debts',
  text: `UPDATE debt d SET owed = 0, returned = e.returned FROM unnest($1::text[], $2::bigint[]) AS e (once, returned)
    WHERE d.once = e.once`,
};

const CHANGE_ACCOUNTS: Statement = {
  name: 'ledger_change_accounts',
  text: `UPDATE account a SET balance = a.balance + c.balance, owed = a.owed + c.owed
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS c (id, balance, owed) WHERE a.id = c.id`,
};
