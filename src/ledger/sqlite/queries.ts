import type { AccountSnapshot, Caller } from '../port.ts';
import type { LedgerTransaction } from './transaction.ts';

/** A caller's account and what it may still spend; changes nothing. */
export function snapshotOf(transaction: LedgerTransaction, caller: Caller): AccountSnapshot | undefined {
  const account = transaction.caller(caller);
  if (!account?.active) return undefined;
  const { row } = account;
  return {
    accountId: account.id,
    email: row.email,
    balance: account.balance,
    held: account.held,
    owed: account.owed,
    openHolds: account.openHolds,
    monthSpent: account.monthSpent,
    monthlyLimit: account.monthlyLimit,
    limits: {
      chatPerMinute: row.chat_per_minute ?? undefined,
      imagesPerMinute: row.images_per_minute ?? undefined,
      concurrent: row.concurrent ?? undefined,
    },
    arrivals: account.arrivals,
    now: transaction.nowMs,
  };
}
