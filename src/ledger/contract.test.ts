import { ledgerContract } from './contract.ts';
import { sqliteHarness } from './sqlite-harness.ts';

ledgerContract('SQLite', () => sqliteHarness());
