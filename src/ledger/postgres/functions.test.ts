import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client } from 'pg';
import { postgresHarness, type PostgresHarness } from '../../../test/support/postgres-ledger.ts';
import { addAccount, chatAdmission, hold, type TestAccount } from '../testing/contract-harness.ts';
import { ADMIT, AdmissionBatch } from './admission.ts';
import { LEDGER_IDENTIFY } from './queries.ts';
import { Numbers } from './numbers.ts';
import { LedgerPool } from './pool.ts';
import { CLOSE, closeValues, voidOf } from './settlement.ts';
import { LEDGER_CLOSE_HOLDS, LEDGER_EXPIRE, LEDGER_RENEW } from './settlement-sql.ts';
import { newRequestId } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';

/** The functions on a connection that somebody else opened, with none of our settings. */
describe('the functions of the ledger', () => {
  let harness: PostgresHarness;
  let client: Client;
  let account: TestAccount;
  let pool: LedgerPool;
  let numbers: Numbers;
  beforeAll(async () => {
    harness = await postgresHarness();
    account = await addAccount(harness);
    client = new Client({ connectionString: harness.backend.url });
    await client.connect();
    pool = new LedgerPool(harness.backend, silentLog, 1, 20);
    numbers = new Numbers(pool, 'test');
    await numbers.needForAdmissions([chatAdmission(account)]);
  });
  afterAll(async () => {
    await Promise.all([client.end(), pool.close()]);
    await harness.close();
  });

  test('look up accounts and holds by key, however small the tables are', async () => {
    await client.query('BEGIN');
    await client.query(`SELECT * FROM ${LEDGER_IDENTIFY.name}(NULL, $1)`, [[account.id]]);
    await admit();
    await client.query(`SELECT * FROM ${LEDGER_CLOSE_HOLDS.name}(${PLACES})`, close());
    expect(await scanned()).toEqual([]);
    // Holds have no index by lease: all of them are looked at, and there are few.
    await client.query(`SELECT ${LEDGER_EXPIRE.name}(0, 0, '', 0, 0, 10)`);
    expect(await scanned()).toEqual(['hold']);
    await client.query('ROLLBACK');
  });

  test('close holds by key in a procedure that commits, and leave the settings of the connection as they were', async () => {
    const before = await scans();
    await client.query({ ...CLOSE, values: close() });
    expect(await scans()).toEqual(before);
    const { rows } = await client.query('SHOW enable_seqscan');
    expect(rows).toEqual([{ enable_seqscan: 'on' }]);
  });

  test('admit without waiting for the disk at the commit, which is after the function has ended', async () => {
    await client.query('BEGIN');
    await admit();
    const { rows } = await client.query('SHOW synchronous_commit');
    await client.query('ROLLBACK');
    expect(rows).toEqual([{ synchronous_commit: 'off' }]);
  });

  test('renew a hold on its page, without touching an index', async () => {
    const id = await hold(harness, chatAdmission(await addAccount(harness, 10_000)));
    await client.query('BEGIN');
    for (let turn = 1; turn <= 5; turn++) {
      const one = [[id], [true], [10], [0], [turn], [0], [0], [null], [null]];
      await client.query(`SELECT ${LEDGER_RENEW.name}(0, 60000, $1, $2, $3, $4, $5, $6, $7, $8, $9)`, one);
    }
    const { rows } = await client.query<{ updates: number; hot: number }>(
      `SELECT n_tup_upd::int AS updates, n_tup_hot_upd::int AS hot FROM pg_stat_xact_user_tables WHERE relname = 'hold'`,
    );
    await client.query('ROLLBACK');
    expect(rows).toEqual([{ updates: 5, hot: 5 }]);
  });

  test('close holds with a commit of their own', async () => {
    const { rows } = await client.query<Record<string, string | null>>({ ...CLOSE, values: close() });
    expect(rows.map(({ places, earlier }) => ({ places, earlier }))).toEqual([
      { places: null, earlier: null },
    ]);
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
    await client.query({ ...ADMIT, values: batch.values(numbers, 60_000, 0) });
  }

  /** The arguments for closing a request that never was. */
  function close(): unknown[] {
    const ending = { outcome: 'shed', attempts: [], durationMs: 1 } as const;
    return closeValues(
      [voidOf(newRequestId(Date.now()), ending)],
      { within: false, owed: [], saved: [] },
      { numbers, offsetUs: 0 },
    );
  }

  /** How often each table was scanned, once this connection has reported it. */
  async function scans(): Promise<unknown> {
    await client.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await client.query(
      `SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname IN ('account', 'hold', 'receipt', 'price') ORDER BY 1`,
    );
    return rows;
  }

  async function scanned(): Promise<string[]> {
    const { rows } = await client.query<{ relname: string }>(
      `SELECT relname FROM pg_stat_xact_user_tables
        WHERE relname IN ('account', 'hold', 'receipt', 'price', 'route') AND seq_scan > 0`,
    );
    return rows.map(({ relname }) => relname);
  }
});

const PLACES = Array.from({ length: 29 }, (_, n) => `$${n + 1}`).join(', ');
