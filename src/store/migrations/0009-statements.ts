import type { Dialect } from '../dialect.ts';

/**
 * Monthly statements that were issued. A number is one more than the highest, given in the transaction that writes the row,
 * and no row ever changes or leaves: so there is no gap. `content` is the rest of what a statement says, as JSON, so that it
 * says the same for ever; who the account belongs to is not in it.
 */
export function statements(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE statement (
      number ${d.int64} PRIMARY KEY CHECK (number > 0),
      account_id TEXT NOT NULL,
      month ${d.int64} NOT NULL,
      starts_at ${d.int64} NOT NULL,
      ends_at ${d.int64} NOT NULL,
      opening ${d.int64} NOT NULL,
      moved ${d.int64} NOT NULL,
      charged ${d.int64} NOT NULL,
      closing ${d.int64} NOT NULL CHECK (closing = opening + moved - charged),
      issued_at ${d.int64} NOT NULL,
      content TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX statement_month ON statement (account_id, month)`,
    ...d.appendOnly('statement'),
  ];
}
