import type { Dialect } from '../dialect.ts';

/**
 * What an account owes of refunds and disputes while running requests hold its money: one row of `debt` for each, and their
 * sum in `account`, where the admission sees it. `returned` is what was owed when the money came back to the operator.
 * After a dispute an account pays by card again once an operator has allowed it.
 */
export function moneyThatGoesBack(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE account ADD COLUMN owed ${d.int64} NOT NULL DEFAULT 0`,
    `ALTER TABLE account ADD COLUMN cards_off_at ${d.int64}`,
    `ALTER TABLE payment_reversal ADD COLUMN owed ${d.int64} NOT NULL DEFAULT 0`,
    `CREATE INDEX payment_reversal_owed ON payment_reversal (created_at, id) WHERE owed > 0`,
    `CREATE TABLE debt (
      once TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      owed ${d.int64} NOT NULL CHECK (owed >= 0),
      returned ${d.int64} NOT NULL DEFAULT 0,
      created_at ${d.int64} NOT NULL
    )`,
  ];
}
