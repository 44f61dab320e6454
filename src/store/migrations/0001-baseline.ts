import type { Dialect } from '../dialect.ts';
import { ledgerTables } from './baseline-ledger.ts';
import { operationTables } from './baseline-operation.ts';
import { signInTables } from './baseline-sign-in.ts';

/** The schema of the first release. */
export function baseline(d: Dialect): readonly string[] {
  return [...ledgerTables(d), ...signInTables(d), ...operationTables(d), ...functionRegister(d)];
}

/** Which of the database's functions are in use; see src/store/stored-functions.ts. */
function functionRegister(d: Dialect): string[] {
  if (!d.storedFunctions) return [];
  return [`CREATE TABLE stored_function (name TEXT PRIMARY KEY, announced_at ${d.int64} NOT NULL)`];
}
