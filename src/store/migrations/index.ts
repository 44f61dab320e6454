import type { Dialect } from '../dialect.ts';
import { first } from './0001-first.ts';
import { postgresFunctions } from './0002-postgres-functions.ts';
import { auth } from './0003-auth.ts';
import { passkeys } from './0004-passkeys.ts';
import { fewerIndexes } from './0005-fewer-indexes.ts';
import { resetLinks } from './0006-reset-links.ts';

/**
 * Numbered steps, each applied once and never edited after a release. Expand first, contract a release later: a step
 * that only adds keeps `compatibleFrom` of the one before it, so that the previous version of Tollgate keeps running beside
 * the new one; a step that removes something raises it to the lowest number whose code works with the result.
 */
export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly compatibleFrom: number;
  /** `ledgerSql` is the ledger's SQL for the step of this name. */
  statements(dialect: Dialect, ledgerSql: readonly string[]): readonly string[];
}

/**
 * The ledger's part of the schema, by the name of the step that applies it: the functions are kept beside the code that
 * calls them, and the store does not know the ledger.
 */
export type LedgerSql = Readonly<Record<string, readonly string[]>>;

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: 'first', compatibleFrom: 1, statements: first },
  { number: 2, name: 'postgres-functions', compatibleFrom: 1, statements: postgresFunctions },
  { number: 3, name: 'auth', compatibleFrom: 1, statements: auth },
  { number: 4, name: 'passkeys', compatibleFrom: 1, statements: passkeys },
  { number: 5, name: 'fewer-indexes', compatibleFrom: 1, statements: fewerIndexes },
  { number: 6, name: 'reset-links', compatibleFrom: 1, statements: resetLinks },
];
