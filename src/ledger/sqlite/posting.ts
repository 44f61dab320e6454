import { Fault } from '../../std/fault.ts';
import { addNano, nanoUsd, subtractNano, type NanoUsd } from '../../std/money.ts';
import { balanceAfter, OVERRUN_ACCOUNT, redeemedEntry } from '../decide.ts';
import type { NewEntry, Reclaim, Reclaimed, Redeemed, Redemption } from '../port.ts';
import { lossKey, reclaimedBefore, reclaimShares } from '../reclaim.ts';
import type { LedgerTransaction } from './transaction.ts';

/** Each function is one operation inside a batch's transaction. It throws a fault only before it changes anything. */

export function post(transaction: LedgerTransaction, entry: NewEntry): { entryId: number; balance: NanoUsd } {
  const account = transaction.account(entry.accountId);
  if (!account) throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
  const before =
    entry.once === undefined ? undefined : transaction.statements.entryByOnce.get(entry.once)?.id;
  if (before !== undefined) return { entryId: before, balance: account.balance };
  const balance = balanceAfter(account, entry);
  const { lastInsertRowid } = transaction.statements.insertEntry.run(
    account.id,
    entry.kind,
    entry.amount,
    entry.requestId ?? null,
    entry.once ?? null,
    entry.cause,
    entry.actor,
    transaction.nowMs,
  );
  account.balance = balance;
  transaction.touch(account);
  return { entryId: Number(lastInsertRowid), balance };
}

export function redeem(
  transaction: LedgerTransaction,
  { codeHash, accountId, at }: Redemption,
): Redeemed | undefined {
  const code = transaction.statements.redeemableCode.get(codeHash, at);
  if (!code) return undefined;
  const amount = nanoUsd(code.amount);
  const entry = { accountId, kind: 'credit', amount, ...redeemedEntry(codeHash, code.batch) } as const;
  const { balance } = post(transaction, entry);
  transaction.statements.markRedeemed.run(accountId, at, codeHash);
  return { amount, balance };
}

export function reclaim(
  transaction: LedgerTransaction,
  { accountId, amount, once, cause, actor }: Reclaim,
): Reclaimed {
  const { entryByOnce, insertEntry } = transaction.statements;
  const account = transaction.account(accountId);
  const operator = transaction.account(OVERRUN_ACCOUNT);
  if (!account || !operator)
    throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
  const before = reclaimedBefore(entryByOnce.get(once)?.amount, entryByOnce.get(lossKey(once))?.amount);
  if (before) return before;
  const { taken, lost } = reclaimShares(account, amount, operator.balance);
  if (taken > 0) {
    insertEntry.run(account.id, 'adjustment', 0 - taken, null, once, cause, actor, transaction.nowMs);
    account.balance = subtractNano(account.balance, taken);
    transaction.touch(account);
  }
  if (lost > 0) {
    insertEntry.run(operator.id, 'adjustment', lost, null, lossKey(once), cause, actor, transaction.nowMs);
    operator.balance = addNano(operator.balance, lost);
    transaction.touch(operator);
  }
  return { taken, lost };
}
