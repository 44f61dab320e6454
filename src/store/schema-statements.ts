export interface StatementSchema {
  statement: StatementTable;
}

/** A monthly statement that was issued. Its amounts are nano-USD. */
export interface StatementTable {
  number: number;
  account_id: string;
  /** UTC, yyyymm. */
  month: number;
  starts_at: number;
  /** Exclusive. */
  ends_at: number;
  opening: number;
  /** Payments, credits, refunds and adjustments. */
  moved: number;
  /** For requests that began in the month. */
  charged: number;
  closing: number;
  issued_at: number;
  /** JSON of the rest. */
  content: string;
}
