import { Fault } from '../../std/fault.ts';
import type { AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { OVERRUN_ACCOUNT, type LedgerAccount } from '../decide.ts';
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
import type { LedgerTransaction } from './transaction.ts';

/** Each function is one operation inside a batch's transaction. It throws a fault only before it changes anything. */

export function reclaim(transaction: LedgerTransaction, wanted: Reclaim): Reclaimed {
  const { result, writes } = planReclaim(readBooks(transaction, wanted), wanted);
  if (writes) write(transaction, writes);
  return result;
}

export function giveBack(
  transaction: LedgerTransaction,
  wanted: Omit<Reclaim, 'amount'>,
): GivenBack | undefined {
  const { result, writes } = planGiveBack(readBooks(transaction, wanted), wanted);
  if (writes) write(transaction, writes);
  return result;
}

function readBooks(
  transaction: LedgerTransaction,
  { accountId: payer, once, creditOnce }: Omit<Reclaim, 'amount'>,
): ReclaimState {
  const { entryByOnce, debt, reached, movedAmong, collectedAmong } = transaction.statements;
  required(transaction, payer);
  const since = (creditOnce !== undefined && entryByOnce.get(creditOnce)?.created_at) || 0;
  const ids = reached.all(payer, since).map(({ id }) => id);
  const list = JSON.stringify(ids);
  const prefix = collectedPrefix(once);
  return {
    losses: required(transaction, OVERRUN_ACCOUNT).balance,
    wallets: new Map(ids.map((id) => [id, required(transaction, id)])),
    moved: movedAmong.all(list, since),
    amounts: new Map(
      reclaimKeys(once).flatMap((key) => {
        const entry = entryByOnce.get(key);
        return entry ? [[key, entry.amount]] : [];
      }),
    ),
    debts: ids.flatMap((id): Debt[] => {
      const row = debt.get(debtKey(once, payer, id));
      return row ? [{ ...row, owed: nanoUsd(row.owed), returned: nanoUsd(row.returned) }] : [];
    }),
    collected: collectedAmong.all(list, prefix, prefix.length),
  };
}

function write(transaction: LedgerTransaction, writes: ReclaimWrites): void {
  const { statements, nowMs } = transaction;
  for (const { accountId, kind, amount, once, cause, actor } of writes.entries)
    statements.insertEntry.run(accountId, kind, amount, null, once, cause, actor, nowMs);
  for (const { id, fromId, toId, amount } of writes.moves)
    statements.insertMove.run(id, fromId, toId, amount, nowMs);
  for (const { once, accountId, owed } of writes.newDebts)
    statements.insertDebt.run(once, accountId, owed, nowMs);
  for (const { once, returned } of writes.endedDebts) statements.endDebt.run(returned, once);
  for (const [id, change] of writes.changes) {
    const account = required(transaction, id);
    account.balance = nanoUsd(account.balance + change.balance);
    account.owed = nanoUsd(account.owed + change.owed);
    transaction.touch(account);
  }
}

function required(transaction: LedgerTransaction, id: AccountId | string): LedgerAccount {
  const account = transaction.account(id);
  if (!account) throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
  return account;
}
