import { Fault } from '../../std/fault.ts';
import { randomPart } from '../../std/ids.ts';
import { MAX_BALANCE, nanoUsd, ZERO, type NanoUsd } from '../../std/money.ts';
import { balanceAfter, redeemedEntry } from '../entries.ts';
import type { NewEntry, Redeemed, Redemption } from '../port.ts';
import { unavailable } from './batch-queue.ts';
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
  balanceAfter(moneyInRow(row), entry);
  throw new Error('an entry within all bounds was refused');
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
  const { balance, held, owed, removed } = row;
  if (balance === null || held === null || owed === null || removed === null) throw noAccount();
  if (row.entry_id !== null) return { amount, balance: nanoUsd(balance) };
  balanceAfter(moneyInRow({ balance, held, owed, removed }), { kind: 'credit', amount });
  throw new Error('a code within all bounds was refused');
}

const ONCE_LENGTH = 22;
const MOST_ATTEMPTS = 3;
const DUPLICATE_KEY = '23505';

const POST: Statement = {
  name: LEDGER_POST.name,
  text: `SELECT * FROM ${LEDGER_POST.name}($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

interface PostRow extends MoneyRow {
  readonly entry_id: number | null;
}

export interface MoneyRow {
  readonly balance: number;
  readonly held: number;
  readonly owed: number;
  readonly removed: boolean;
}

export function moneyInRow({ balance, held, owed, removed }: MoneyRow) {
  return { balance: nanoUsd(balance), held: nanoUsd(held), owed: nanoUsd(owed), isRemoved: removed };
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
  readonly owed: number | null;
  readonly removed: boolean | null;
}

export function noAccount(): Fault {
  return new Fault('invalid_field', 'There is no such account.', { param: 'account' });
}

/** After a lost answer the same key is sent again, and finds what the first call did. */
export async function callAgain<Row extends object>(
  session: LedgerPool,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row | undefined> {
  return (await askedAgain(() => session.call<Row>(statement, values)))[0];
}

export async function askedAgain<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
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
  balanceAfter({ balance: nanoUsd(enough), held: ZERO, owed: ZERO, isRemoved: false }, entry);
}
