import { ledgerModel } from './model.ts';
import { sqliteHarness } from './sqlite-harness.ts';

ledgerModel('SQLite', () => sqliteHarness());
