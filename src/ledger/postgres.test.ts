import { postgresHarness } from '../../test/support/postgres-ledger.ts';
import { ledgerContract } from './contract.ts';

ledgerContract('Postgres', () => postgresHarness());
