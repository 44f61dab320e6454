import type { ColumnType } from 'kysely';

export interface ReceiptLinkSchema {
  receipt_link: ReceiptLinkTable;
}

/** A link that shows a receipt to others. What opens it is its signature, which is not here. */
export interface ReceiptLinkTable {
  id: string;
  account_id: string;
  request_id: string;
  created_at: number;
  expires_at: number;
  /** When its owner ended it. */
  ended_at: ColumnType<number | null, number | null | undefined, number | null>;
}
