import { dayOf, periodStart } from '../../std/calendar.ts';
import { Fault } from '../../std/fault.ts';
import type { AccountId } from '../../std/ids.ts';
import { addNano, nanoUsd, subtractNano, type NanoUsd } from '../../std/money.ts';
import { OVERRUN_ACCOUNT } from '../decide.ts';
import { balanceAfter, moveEntries, redeemedEntry } from '../entries.ts';
import type { LedgerAccount } from '../decide.ts';
import type {
  BudgetChange,
  GivenBack,
  NewEntry,
  Reclaim,
  Reclaimed,
  Redeemed,
  Redemption,
  WalletMove,
} from '../port.ts';
import { laterKey, lossKey, reclaimShares, returnedKey } from '../reclaim.ts';
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
  if (statements.entryByOnce.get(out.once ?? '')) return;
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

export function reclaim(transaction: LedgerTransaction, { amount, once, ...named }: Reclaim): Reclaimed {
  const { insertDebt, endDebt } = transaction.statements;
  const { account, operator } = parties(transaction, named.accountId);
  const before = reclaimed(transaction, once);
  if (before?.owed === 0) return before;
  const missing = before?.owed ?? amount;
  const isOwed = before !== undefined;
  const { taken, lost, owed } = reclaimShares(account, { missing, isOwed }, operator.balance);
  if (owed === missing && isOwed) return before;
  if (isOwed) endDebt.run(0, once);
  else if (owed > 0) insertDebt.run(once, account.id, owed, transaction.nowMs);
  account.owed = isOwed ? subtractNano(account.owed, missing) : addNano(account.owed, owed);
  book(transaction, account, { ...named, amount: 0 - taken, once: isOwed ? laterKey(once) : once });
  book(transaction, operator, { ...named, amount: lost, once: lossKey(once) });
  transaction.touch(account);
  return reclaimed(transaction, once) ?? { taken, lost, owed };
}

export function giveBack(
  transaction: LedgerTransaction,
  { once, ...named }: Omit<Reclaim, 'amount'>,
): GivenBack | undefined {
  const { account, operator } = parties(transaction, named.accountId);
  const before = reclaimed(transaction, once);
  if (!before) return undefined;
  const { taken, lost, owed } = before;
  if (isReturned(transaction, once)) return { taken, lost };
  if (taken > 0) balanceAfter(account, { kind: 'adjustment', amount: taken });
  transaction.statements.endDebt.run(owed, once);
  account.owed = subtractNano(account.owed, owed);
  book(transaction, account, { ...named, amount: taken, once: returnedKey(once) });
  book(transaction, operator, { ...named, amount: 0 - lost, once: returnedKey(lossKey(once)) });
  transaction.touch(account);
  return { taken, lost };
}

function parties(transaction: LedgerTransaction, accountId: AccountId) {
  const account = transaction.account(accountId);
  const operator = transaction.account(OVERRUN_ACCOUNT);
  if (account && operator) return { account, operator };
  throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
}

/** What was done so far with this key. */
function reclaimed({ statements }: LedgerTransaction, once: string): Reclaimed | undefined {
  const amountOf = (key: string): number => statements.entryByOnce.get(key)?.amount ?? 0;
  const debt = statements.debt.get(once);
  const taken = nanoUsd(0 - amountOf(once) - amountOf(laterKey(once)));
  const lost = nanoUsd(amountOf(lossKey(once)));
  if (!debt && taken === 0 && lost === 0) return undefined;
  return { taken, lost, owed: nanoUsd(debt?.owed ?? 0) };
}

function isReturned({ statements }: LedgerTransaction, once: string): boolean {
  const keys = [returnedKey(once), returnedKey(lossKey(once))];
  return (
    keys.some((key) => statements.entryByOnce.get(key)) || (statements.debt.get(once)?.returned ?? 0) > 0
  );
}

function book(
  transaction: LedgerTransaction,
  account: LedgerAccount,
  { amount, once, cause, actor }: Pick<NewEntry, 'amount' | 'cause' | 'actor'> & { readonly once: string },
): void {
  if (amount === 0) return;
  const { insertEntry } = transaction.statements;
  insertEntry.run(account.id, 'adjustment', amount, null, once, cause, actor, transaction.nowMs);
  account.balance = nanoUsd(account.balance + amount);
  transaction.touch(account);
}
