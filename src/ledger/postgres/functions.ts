import type { LedgerSql } from '../../store/migrations/index.ts';
import { LEDGER_ADMIT } from './admission-sql.ts';
import { LEDGER_NUMBERS } from './numbers-sql.ts';
import {
  LEDGER_CLOSE,
  LEDGER_CLOSE_HOLDS,
  LEDGER_EXPIRE,
  LEDGER_POST,
  LEDGER_RENEW,
  LEDGER_RESTORE,
} from './settlement-sql.ts';

/** What the ledger adds to the schema, by migration step. A released step is never edited. */
export const LEDGER_SQL: LedgerSql = {
  'postgres-functions': [
    LEDGER_NUMBERS,
    LEDGER_ADMIT,
    LEDGER_CLOSE_HOLDS,
    LEDGER_CLOSE,
    LEDGER_EXPIRE,
    LEDGER_RENEW,
    LEDGER_POST,
    LEDGER_RESTORE,
  ],
};
