import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client } from 'pg';
import { postgresHarness, type PostgresHarness } from '../../../test/support/postgres-ledger.ts';
import { addAccount, chatAdmission, type TestAccount } from '../testing/contract-harness.ts';
import { ADMIT, AdmissionBatch } from './admission.ts';
import { LEDGER_IDENTIFY } from './queries-sql.ts';
import { LEDGER_CLOSE, LEDGER_EXPIRE } from './settlement-sql.ts';

/** The functions on a connection that somebody else opened, with none of our settings. */
describe('the functions of the ledger', () => {
  let harness: PostgresHarness;
  let client: Client;
  let account: TestAccount;
  beforeAll(async () => {
    harness = await postgresHarness();
    account = await addAccount(harness);
    client = new Client({ connectionString: harness.backend.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await harness.close();
  });

  test('look up accounts and holds by key, however small the tables are', async () => {
    await client.query('BEGIN');
    await client.query(`SELECT * FROM ${LEDGER_IDENTIFY.name}(NULL, $1)`, [[account.id]]);
    await admit();
    await client.query(`SELECT ${LEDGER_EXPIRE.name}(0, 0, 0, '', 0, 10)`);
    const { rows } = await client.query(
      `SELECT relname FROM pg_stat_xact_user_tables WHERE relname IN ('account', 'request') AND seq_scan > 0`,
    );
    await client.query('ROLLBACK');
    expect(rows).toEqual([]);
  });

  test('admit without waiting for the disk at the commit, which is after the function has ended', async () => {
    await client.query('BEGIN');
    await admit();
    const { rows } = await client.query('SHOW synchronous_commit');
    await client.query('ROLLBACK');
    expect(rows).toEqual([{ synchronous_commit: 'off' }]);
  });

  test('close holds with a commit of their own', async () => {
    const none = Array.from({ length: 16 }, () => `'{}'`).join(', ');
    const { rows } = await client.query(`CALL ${LEDGER_CLOSE.name}(0, 0, 0, '', 0, ${none}, NULL)`);
    expect(rows).toEqual([{ closed: [] }]);
  });

  test('answer a running node as before when a newer version adds a column to the accounts', async () => {
    const identify = () => harness.ledger().identify({ kind: 'account', id: account.id });
    const before = await identify();
    await client.query('ALTER TABLE account ADD COLUMN added_by_a_newer_version BIGINT');
    const after = await identify();
    await client.query('ALTER TABLE account DROP COLUMN added_by_a_newer_version');
    expect({ ...after, now: 0 }).toEqual({ ...before, now: 0 } as never);
    expect(after?.accountId).toBe(account.id);
  });

  async function admit(): Promise<void> {
    const batch = new AdmissionBatch([chatAdmission(account)]);
    await client.query({ ...ADMIT, values: batch.values({ node: 'test', leaseMs: 60_000 }, 0) });
  }
});
