import type { Dialect } from '../dialect.ts';

/**
 * The ledger's decisions as functions of the database, where many nodes share one. A later version that needs another
 * signature makes a function of another name: nodes of the version before still call these.
 */
export function postgresFunctions(d: Dialect, functions: readonly string[]): readonly string[] {
  if (!d.storedFunctions) return [];
  return [...withoutForeignKeys(), ...roomToUpdate(), ...functions];
}

/**
 * The ledger has the account of every hold and entry in its hands when it writes them. A foreign key would look it up
 * and lock it again for each row, which doubles the cost of an admission.
 */
function withoutForeignKeys(): string[] {
  return [
    'ALTER TABLE request DROP CONSTRAINT request_account_id_fkey',
    'ALTER TABLE entry DROP CONSTRAINT entry_account_id_fkey',
  ];
}

/** Rows that are updated with every batch find room on their page: no index has to learn of the new version. */
function roomToUpdate(): string[] {
  return ['ALTER TABLE account SET (fillfactor = 50)', 'ALTER TABLE usage_day SET (fillfactor = 50)'];
}
