import { dayOf, periodEnd, periodStart, type Period } from '../std/calendar.ts';
import { addNano, nanoUsd, subtractNano, ZERO, type NanoUsd } from '../std/money.ts';
import type { AccountRow } from '../store/schema.ts';
import type { ReachedLimit } from './port.ts';

type BudgetColumns = Pick<
  AccountRow,
  'budget_per' | 'budget_from' | 'budget_from_day' | 'budget_used' | 'budget_held'
>;

/** A budget with what its period has used so far. */
export class Budget {
  readonly amount: NanoUsd;
  readonly per: Period;
  from: number;
  fromDay: number;
  used: NanoUsd;
  held: NanoUsd;

  constructor(amount: number, row: BudgetColumns) {
    this.amount = nanoUsd(amount);
    this.per = row.budget_per ?? 'total';
    this.from = row.budget_from;
    this.fromDay = row.budget_from_day;
    this.used = nanoUsd(row.budget_used);
    this.held = nanoUsd(row.budget_held);
  }

  /** A new period has used nothing. A clock that jumped back begins none. */
  enter(nowMs: number): void {
    const from = periodStart(this.per, nowMs);
    if (from <= this.from) return;
    this.from = from;
    this.fromDay = dayOf(from);
    this.used = ZERO;
    this.held = ZERO;
  }

  /** A request that was admitted in an earlier period belongs to that period. */
  release(
    { held, admittedAt }: { readonly held: NanoUsd; readonly admittedAt: number },
    charged: NanoUsd,
  ): void {
    if (admittedAt < this.from) return;
    this.held = subtractNano(this.held, held);
    this.used = addNano(this.used, charged);
  }

  get left(): NanoUsd {
    return nanoUsd(Math.max(0, this.amount - this.used - this.held));
  }
}
/** What the period of an account `a` has used and holds, as the sums by day and the holds tell; in SQL of both databases. */
export const BUDGET_USED = `(SELECT COALESCE(SUM(u.charged), 0) FROM usage_day u
    WHERE u.account_id = a.id AND u.day >= a.budget_from_day)`;
export const BUDGET_HELD = `(SELECT COALESCE(SUM(h.held), 0) FROM hold h
    WHERE h.account_id = a.id AND h.created_at >= a.budget_from)`;

export const BUDGET_SO_FAR = `budget_used = ${BUDGET_USED}, budget_held = ${BUDGET_HELD}`;

/** When the next period of a limit begins. */
export function limitEnd(limit: ReachedLimit, nowMs: number): number | undefined {
  const [, per = limit] = limit.split('_');
  return periodEnd(per as Period, nowMs);
}
