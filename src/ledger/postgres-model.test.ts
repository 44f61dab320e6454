import { postgresHarness } from '../../test/support/postgres-ledger.ts';
import { ledgerModel } from './model.ts';

ledgerModel('Postgres', () => postgresHarness());
