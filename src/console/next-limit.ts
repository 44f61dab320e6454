import { balanceForecast, type Spent } from '../activity/balance-days.ts';
import { monthSpent } from '../activity/accounts.ts';
import { Budget } from '../ledger/budget.ts';
import { periodEnd, type Period } from '../std/calendar.ts';
import type { AccountRow } from '../store/schema.ts';
import { usd } from './amounts.ts';
import type { Millis, Usd } from './contract.ts';

/** The limit that will stop requests first. */
interface NextLimit {
  kind: 'balance' | 'monthly_limit' | 'budget';
  /** The period of a budget. */
  per: Period | null;
  leftUsd: Usd;
  limitUsd: Usd | null;
  /** At the pace of the last week; null: never, not before it starts again, or it cannot be said yet. */
  reachedAt: Millis | null;
}

interface Limit extends Pick<NextLimit, 'kind' | 'per'> {
  readonly left: number;
  readonly limit: number | undefined;
  readonly resetsAt: number | undefined;
}

/** A limit with what was spent on each of the last days. */
interface Spending extends Limit {
  readonly spent: readonly Spent[];
}

/** The balance of a wallet, and what it may spend in a month. */
export function walletLimits(wallet: AccountRow, now: number): Limit[] {
  // What running requests hold is not spent yet.
  const left = Math.max(0, wallet.balance - wallet.owed);
  const balance: Limit = { kind: 'balance', per: null, left, limit: undefined, resetsAt: undefined };
  const limit = wallet.monthly_limit;
  if (limit === null) return [balance];
  const ofMonth = Math.max(0, limit - monthSpent(wallet, now));
  const resetsAt = periodEnd('month', now);
  return [balance, { kind: 'monthly_limit', per: null, left: ofMonth, limit, resetsAt }];
}

/** An account's own, beside what its wallet has. */
export function budgetLimits(account: AccountRow, now: number): Limit[] {
  if (account.budget === null) return [];
  const budget = new Budget(account.budget, account);
  budget.enter(now);
  const { per, amount, used } = budget;
  const left = Math.max(0, amount - used);
  return [{ kind: 'budget', per, left, limit: amount, resetsAt: periodEnd(per, now) }];
}

/** One that ends before it starts again, the soonest first; where none does, the one with the least left. */
export function nextLimit(limits: readonly Spending[], now: number): NextLimit | null {
  const reached = limits.map((limit) => ({ limit, at: reachedAt(limit, now) }));
  const [first] = reached.toSorted(
    (a, b) => (a.at ?? Infinity) - (b.at ?? Infinity) || a.limit.left - b.limit.left,
  );
  if (!first) return null;
  const { kind, per, left, limit } = first.limit;
  return {
    kind,
    per,
    leftUsd: usd(left),
    limitUsd: limit === undefined ? null : usd(limit),
    reachedAt: first.at ?? null,
  };
}

function reachedAt({ left, resetsAt, spent }: Spending, now: number): number | undefined {
  const forecast = balanceForecast(left, spent, now);
  if (forecast.kind === 'empty') return now;
  if (forecast.kind !== 'until') return undefined;
  return resetsAt !== undefined && forecast.at >= resetsAt ? undefined : forecast.at;
}
