import { dayOf, periodStart } from '../../std/calendar.ts';
import { Fault } from '../../std/fault.ts';
import { nanoUsd, type NanoUsd } from '../../std/money.ts';
import { balanceAfter, moveEntries, redeemedEntry } from '../entries.ts';
import type { BudgetChange, NewEntry, Redeemed, Redemption, WalletMove } from '../port.ts';
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

export function move(transaction: LedgerTransaction, wanted: WalletMove): void {
  const { statements, nowMs } = transaction;
  const [out, into] = moveEntries(wanted);
  if (statements.entryByOnce.get(out.once)) return;
  const to = transaction.account(into.accountId);
  if (!to) throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
  // Both are checked before either is changed.
  balanceAfter(to, into);
  post(transaction, out);
  post(transaction, into);
  statements.insertMove.run(wanted.id, wanted.fromId, wanted.toId, wanted.amount, nowMs);
}

export function setBudget(transaction: LedgerTransaction, { accountId, budget }: BudgetChange): void {
  const { statements, nowMs } = transaction;
  if (!transaction.account(accountId))
    throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
  transaction.flushAccounts();
  const from = budget ? periodStart(budget.per, nowMs) : 0;
  const fromDay = from === 0 ? 0 : dayOf(from);
  statements.setBudget.run(budget?.amount ?? null, budget?.per ?? null, from, fromDay, accountId);
  statements.countBudget.run(accountId);
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
