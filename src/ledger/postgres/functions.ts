import type { LedgerSql } from '../../store/stored-functions.ts';
import { LEDGER_ADMIT, LEDGER_ADMIT_ONE } from './admission-sql.ts';
import { LEDGER_ARCHIVE } from './archive.ts';
import { LEDGER_NUMBERS } from './numbers.ts';
import { LEDGER_IDENTIFY, LEDGER_LOOK_UP } from './queries.ts';
import {
  LEDGER_CLOSE,
  LEDGER_CLOSE_HOLDS,
  LEDGER_CLOSE_ONE,
  LEDGER_EXPIRE,
  LEDGER_POST,
  LEDGER_RENEW,
  LEDGER_RESTORE,
} from './settlement-sql.ts';
import { LEDGER_MOVE, LEDGER_SET_BUDGET } from './wallets.ts';

/** All functions that this version calls. */
export const LEDGER_SQL: LedgerSql = [
  LEDGER_NUMBERS,
  LEDGER_ADMIT,
  LEDGER_ADMIT_ONE,
  LEDGER_CLOSE_HOLDS,
  LEDGER_CLOSE,
  LEDGER_CLOSE_ONE,
  LEDGER_EXPIRE,
  LEDGER_RENEW,
  LEDGER_POST,
  LEDGER_RESTORE,
  LEDGER_IDENTIFY,
  LEDGER_LOOK_UP,
  LEDGER_ARCHIVE,
  LEDGER_SET_BUDGET,
  LEDGER_MOVE,
];
