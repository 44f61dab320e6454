import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client } from 'pg';
import { postgresHarness, type PostgresHarness } from '../../../test/support/postgres-ledger.ts';
import { addAccount, chatAdmission, hold, type TestAccount } from '../testing/contract-harness.ts';
import { AdmissionBatch } from './admission.ts';
import { LEDGER_IDENTIFY } from './queries.ts';
import { Numbers } from './numbers.ts';
import { LedgerPool, type BoundStatement } from './pool.ts';
import { closeCall, voidOf } from './settlement.ts';
import { LEDGER_CLOSE_HOLDS, LEDGER_EXPIRE, LEDGER_RENEW } from './settlement-sql.ts';
import { newRequestId, type RequestId } from '../../std/ids.ts';
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
    await client.query(`SELECT * FROM ${LEDGER_CLOSE_HOLDS.name}(${PLACES})`, [...close(2).values]);
    expect(await scanned()).toEqual([]);
    // Holds have no index by lease: all of them are looked at, and there are few.
    await client.query(`SELECT ${LEDGER_EXPIRE.name}(0, 0, '', 0, 0, 10)`);
    expect(await scanned()).toEqual(['hold']);
    await client.query('ROLLBACK');
  });

  test('close holds by key in a procedure that commits, and leave the settings of the connection as they were', async () => {
    const before = await scans();
    await run(close(2));
    await run(close(1));
    const request = chatAdmission(account);
    await harness.ledger().admit(request);
    await run(close(1, request.requestId));
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

  test.each([1, 2])('close holds with a commit of their own (%d)', async (count) => {
    const { rows } = await run(close(count));
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
    for (const requests of [[chatAdmission(account)], [chatAdmission(account), chatAdmission(account)]])
      await run(new AdmissionBatch(requests).call(numbers, 60_000, 0));
  }

  /** Closes requests that never were, unless it is told which. */
  function close(count: number, id?: RequestId): BoundStatement {
    const ending = { outcome: 'shed', attempts: [], durationMs: 1 } as const;
    const requests = Array.from({ length: count }, () => voidOf(id ?? newRequestId(Date.now()), ending));
    return closeCall(requests, { within: true, owed: [], saved: [] }, { numbers, offsetUs: 0 });
  }

  function run({ statement, values }: BoundStatement) {
    return client.query<Record<string, string | null>>({ ...statement, values: [...values] });
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
