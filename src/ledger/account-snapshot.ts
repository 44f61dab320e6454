import { periodEnd } from '../std/calendar.ts';
import type { LedgerAccount } from './decide.ts';
import type { AccountSnapshot, Caller } from './port.ts';
import { tokenRefusal } from './token-limits.ts';

/** A caller's account and what it may still spend; `undefined`: its token is not valid, or no longer. */
export function snapshotOf(
  account: LedgerAccount | undefined,
  caller: Caller,
  nowMs: number,
): AccountSnapshot | undefined {
  if (!account?.active) return undefined;
  const { row, wallet, budget, tokenLimits } = account;
  const address = caller.kind === 'token' ? caller.address : undefined;
  const refusal = caller.kind === 'token' && tokenLimits && tokenRefusal(tokenLimits, { address, nowMs });
  if (refusal === 'invalid_token') return undefined;
  budget?.enter(nowMs);
  return {
    accountId: account.id,
    kind: row.kind,
    email: row.kind === 'person' ? row.email : row.kind === 'member' ? (row.name ?? undefined) : undefined,
    name: row.kind === 'app' ? (row.name ?? undefined) : undefined,
    team: account.isTeams
      ? { id: wallet.id, name: wallet.row.name ?? '', role: row.team_role ?? 'member' }
      : undefined,
    balance: wallet.balance,
    held: wallet.held,
    owed: wallet.owed,
    ownHeld: account.isTeams ? account.teamHeld : account.held,
    openHolds: account.openHolds,
    monthSpent: wallet.monthSpent,
    ownMonthSpent: account.monthSpent,
    monthlyLimit: wallet.monthlyLimit,
    budget: budget && {
      amount: budget.amount,
      per: budget.per,
      used: budget.used,
      held: budget.held,
      resetsAt: periodEnd(budget.per, nowMs),
    },
    tokenLimits,
    priceGroup: wallet.row.price_group ?? undefined,
    isNetworkAllowed: refusal !== 'network_not_allowed',
    limits: {
      chatPerMinute: row.chat_per_minute ?? undefined,
      imagesPerMinute: row.images_per_minute ?? undefined,
      concurrent: row.concurrent ?? undefined,
    },
    arrivals: account.arrivals,
    now: nowMs,
  };
}
