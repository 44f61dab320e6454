import { beforeAll } from 'bun:test';
import { postgresHarness } from '../../../test/support/postgres-ledger.ts';
import { testPostgres } from '../../../test/support/postgres.ts';
import { ledgerModel } from '../testing/model.ts';
import { retentionModel } from '../testing/retention-model.ts';

beforeAll(async () => {
  // Starting the server is no part of the model's time.
  await testPostgres();
}, 60_000);

ledgerModel('Postgres', () => postgresHarness(), 3);
retentionModel('Postgres', () => postgresHarness());
