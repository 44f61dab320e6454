import type { Dialect } from '../dialect.ts';

/**
 * The ledger's decisions as database functions, for nodes that share one database. A later version that needs another
 * signature creates a function with another name: nodes of the previous version still call these.
 */
export function postgresFunctions(d: Dialect, functions: readonly string[]): readonly string[] {
  if (!d.storedFunctions) return [];
  return [...withoutForeignKeys(), ...roomToUpdate(), ...functions];
}

/**
 * The ledger has already locked the account when it writes a hold or an entry. A foreign key would look it up and lock it
 * again for each row, which doubles the cost of an admission.
 */
function withoutForeignKeys(): string[] {
  return ['ALTER TABLE entry DROP CONSTRAINT entry_account_id_fkey'];
}

/** Free space on each page for rows that every batch updates, so that an update stays on its page and touches no index. */
function roomToUpdate(): string[] {
  return ['ALTER TABLE account SET (fillfactor = 50)'];
}
