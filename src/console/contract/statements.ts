import type { Usd } from './shared.ts';

/** A month that is over, for which there is a statement. */
export interface StatementMonth {
  /** `2026-10` */
  month: string;
  /** Null: it was never fetched; it gets its number when it is. */
  number: number | null;
}

/** What was charged on one day, UTC. */
export interface StatementDay {
  /** `2026-10-31` */
  day: string;
  requests: number;
  chargedUsd: Usd;
  /** Its receipts have left; their sum stays. */
  archived: boolean;
}
