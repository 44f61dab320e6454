import type { ColumnType, Generated } from 'kysely';

type Default<T> = Generated<T>;
/** May be left out of an insert; absent means NULL. */
type Nullable<T> = ColumnType<T | null, T | null | undefined, T | null>;

export interface PaymentSchema {
  payment: PaymentTable;
  payment_reversal: PaymentReversalTable;
  payment_problem: PaymentProblemTable;
  top_up: TopUpTable;
}

/** What was asked of the payment provider. Nothing about a card is in any column. */
export interface PaymentTable {
  id: string;
  account_id: string;
  /** `card`: a card is saved for later, and the amount is zero. */
  kind: PaymentKind;
  state: PaymentState;
  amount: number;
  session_id: Nullable<string>;
  intent_id: Nullable<string>;
  /** Why it failed, in the provider's word. */
  reason: Nullable<string>;
  attempted_at: Nullable<number>;
  card_saved_at: Nullable<number>;
  created_at: number;
  finished_at: Nullable<number>;
}

export type PaymentKind = 'top_up' | 'automatic' | 'card';
export type PaymentState = 'open' | 'paid' | 'failed';

/** A refund or a dispute of a payment. */
export interface PaymentReversalTable {
  id: string;
  kind: 'refund' | 'dispute';
  intent_id: string;
  account_id: Nullable<string>;
  amount: number;
  /** Of `REVERSAL_STAGES`; it only rises. */
  stage: number;
  taken: Default<number>;
  lost: Default<number>;
  created_at: number;
  booked_at: Nullable<number>;
  returned_at: Nullable<number>;
}

/** An event that was refused. */
export interface PaymentProblemTable {
  event_id: string;
  event_type: string;
  object_id: string;
  account_id: Nullable<string>;
  reason: string;
  created_at: number;
}

/** The customer at the provider, the saved card's id there, and the automatic top-up. */
export interface TopUpTable {
  account_id: string;
  customer_id: string;
  method_id: Nullable<string>;
  enabled: Default<number>;
  threshold: Default<number>;
  amount: Default<number>;
  monthly_max: Default<number>;
  running: Nullable<string>;
  off_reason: Nullable<string>;
  removed_at: Nullable<number>;
  updated_at: number;
}
