import { ledgerContract } from '../testing/contract.ts';
import { sqliteHarness } from '../testing/sqlite-harness.ts';

ledgerContract('SQLite', () => sqliteHarness());
