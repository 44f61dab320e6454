import { beforeAll } from 'bun:test';
import { postgresHarness } from '../../../test/support/postgres-ledger.ts';
import { testPostgres } from '../../../test/support/postgres.ts';
import { ledgerContract } from '../testing/contract.ts';

beforeAll(async () => {
  // Starting the server is no part of any case's time.
  await testPostgres();
}, 60_000);

ledgerContract('Postgres', () => postgresHarness());
