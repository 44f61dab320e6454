import type { AccountId } from '../std/ids.ts';
import { nanoUsd, ZERO, type NanoUsd } from '../std/money.ts';
import type { AccountRow } from '../store/schema.ts';
import type { AccountState } from './decide.ts';
import type { AdmissionRequest, Limits, RateKind } from './port.ts';

/** An account's row while a transaction works on it. */
export class LedgerAccount {
  readonly id: AccountId;
  readonly row: AccountRow;
  readonly active: boolean;
  balance: NanoUsd;
  held: NanoUsd;
  openHolds: number;
  readonly arrivals: Record<RateKind, number>;
  readonly month: number;
  monthSpent: NanoUsd;
  readonly monthlyLimit: NanoUsd | undefined;
  tokenUsedAt: number | null;

  constructor(row: AccountRow, month: number) {
    this.row = row;
    // The primary key of an account is an account id.
    this.id = row.id as AccountId;
    this.active = row.status === 'active' && row.role !== 'system';
    this.balance = nanoUsd(row.balance);
    this.held = nanoUsd(row.held);
    this.openHolds = row.open_holds;
    this.arrivals = { chat: row.chat_arrival_us, images: row.images_arrival_us };
    // A clock that jumped back over the turn of a month must not forget what that month spent.
    this.month = Math.max(month, row.month);
    this.monthSpent = row.month === this.month ? nanoUsd(row.month_spent) : ZERO;
    this.monthlyLimit = row.monthly_limit === null ? undefined : nanoUsd(row.monthly_limit);
    this.tokenUsedAt = row.token_used_at;
  }

  /** The account as the admission rule looks at it. */
  stateFor({ rate, limits }: Pick<AdmissionRequest, 'rate' | 'limits'>): AccountState {
    return {
      active: this.active,
      balance: this.balance,
      held: this.held,
      openHolds: this.openHolds,
      arrivalUs: this.arrivals[rate],
      perMinute: this.#perMinute(rate, limits),
      concurrent: this.row.concurrent ?? limits.concurrent,
      monthSpent: this.monthSpent,
      monthlyLimit: this.monthlyLimit,
    };
  }

  #perMinute(rate: RateKind, limits: Limits): number {
    return rate === 'chat'
      ? (this.row.chat_per_minute ?? limits.chatPerMinute)
      : (this.row.images_per_minute ?? limits.imagesPerMinute);
  }
}
