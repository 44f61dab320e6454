import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { PoolClient } from 'pg';
import {
  accountRow,
  addAccount,
  chatAdmission,
  FAILED,
  hold,
  requestRow,
  used,
  type TestAccount,
} from '../../src/ledger/testing/contract-harness.ts';
import { NO_USAGE } from '../../src/ledger/price.ts';
import type { PostgresLedger } from '../../src/ledger/postgres/ledger.ts';
import type { Admission } from '../../src/ledger/port.ts';
import type { RequestId } from '../../src/std/ids.ts';
import { postgresHarness, type PostgresHarness } from '../support/postgres-ledger.ts';

const PATIENCE_MS = 60_000;

describe('changes while a request waits for its account', () => {
  let harness: PostgresHarness;
  beforeAll(async () => {
    harness = await postgresHarness();
    // A connection's first call plans its statements, which would be part of the wait.
    await holdMany(harness, await addAccount(harness, 1_000_000), 2);
  }, PATIENCE_MS);
  afterAll(() => harness.close(), PATIENCE_MS);

  const CHANGES: Readonly<Record<string, { readonly sql: string; readonly reason: string }>> = {
    'its token is replaced': { sql: `token_hash = 'replaced'`, reason: 'invalid_token' },
    'its account is disabled': { sql: `status = 'disabled'`, reason: 'invalid_token' },
    'the money is spent': { sql: 'held = balance', reason: 'funds_on_hold' },
    'the last place is taken': { sql: 'open_holds = 10000', reason: 'concurrency_limit_exceeded' },
    'the limit of the month is lowered': { sql: 'monthly_limit = 5', reason: 'limit_reached' },
  };

  for (const [what, { sql, reason }] of Object.entries(CHANGES)) {
    test(
      `counts: ${what}, so it is refused and leaves nothing behind`,
      async () => {
        const account = await addAccount(harness, 10_000);
        const requests = [chatAdmission(account), chatAdmission(account)];
        const answers = await whileLocked(harness, account, {
          change: `UPDATE account SET ${sql} WHERE id = '${account.id}'`,
          waiting: () => Promise.all(requests.map((request) => harness.ledger().admit(request))),
        });
        expect(answers).toMatchObject([
          { kind: 'refused', reason },
          { kind: 'refused', reason },
        ]);
        expect(await holdsOf(harness, account)).toEqual([]);
      },
      PATIENCE_MS,
    );
  }

  test(
    'counts: less money is left, so the cap is lowered to that and the hold says so',
    async () => {
      const account = await addAccount(harness, 10_000);
      const request = chatAdmission(account);
      const answer = await whileLocked(harness, account, {
        change: `UPDATE account SET balance = 1500 WHERE id = '${account.id}'`,
        waiting: () => harness.ledger().admit(request),
      });
      expect(answer).toMatchObject({ kind: 'admitted', held: 1_500, output: 700, available: 0 });
      expect(await requestRow(harness, request.requestId)).toMatchObject({ held: 1_500, output_cap: 700 });
      expect(await holdsOf(harness, account)).toHaveLength(1);
    },
    PATIENCE_MS,
  );

  test(
    'counts: more money comes, so it is admitted although there was none when it asked',
    async () => {
      const account = await addAccount(harness);
      const request = chatAdmission(account);
      const answer = await whileLocked(harness, account, {
        change: `UPDATE account SET balance = 2100 WHERE id = '${account.id}'`,
        waiting: () => harness.ledger().admit(request),
      });
      expect(answer).toMatchObject({ kind: 'admitted', held: 2_100 });
      expect(await holdsOf(harness, account)).toHaveLength(1);
    },
    PATIENCE_MS,
  );

  test(
    'hold up nobody else',
    async () => {
      const account = await addAccount(harness, 10_000);
      const others = await Promise.all(Array.from({ length: 6 }, () => addAccount(harness, 10_000)));
      let answers: Admission[] = [];
      const answer = await whileLocked(harness, account, {
        change: `UPDATE account SET balance = 9000 WHERE id = '${account.id}'`,
        waiting: () => harness.ledger().admit(chatAdmission(account)),
        meanwhile: async () => {
          answers = await Promise.all(others.map((other) => harness.ledger().admit(chatAdmission(other))));
        },
      });
      expect(answers.map(({ kind }) => kind)).toEqual(others.map(() => 'admitted'));
      expect(answer).toMatchObject({ kind: 'admitted' });
    },
    PATIENCE_MS,
  );
});

describe('holds that several nodes would close', () => {
  let harness: PostgresHarness;
  let nodes: PostgresLedger[];
  beforeAll(async () => {
    harness = await postgresHarness();
    nodes = ['a', 'b', 'c'].map((name) => harness.anotherNode(name));
  }, PATIENCE_MS);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.close()));
    await harness.close();
  }, PATIENCE_MS);

  test(
    'are closed once, and everybody hears the same',
    async () => {
      const account = await addAccount(harness, 1_000_000);
      const ids = await holdMany(harness, account, 200);
      const close = (id: RequestId, node: PostgresLedger, turn: number) =>
        turn % 3 === 0 ? node.void(id, FAILED) : node.settle(id, used({ output: turn }));
      const results = await Promise.all(
        ids.map((id) => Promise.all(nodes.map((node, turn) => close(id, node, turn)))),
      );
      for (const heard of results) {
        expect(new Set(heard.map(({ state, charged }) => `${state} ${charged}`)).size).toBe(1);
      }
      expect(await accountRow(harness, account)).toMatchObject({ held: 0, open_holds: 0 });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'B1: of a node that was killed are charged for what was delivered, once, by whoever finds them',
    async () => {
      const account = await addAccount(harness, 1_000_000);
      const ids = await holdMany(harness, account, 150);
      const delivered = { ...NO_USAGE, output: 10 };
      await harness.ledger().renew(ids.slice(0, 75).map((requestId) => ({ requestId, delivered })));
      await harness.advance(harness.leaseMs + 1_000);
      // The owner was only frozen and resumes at the worst moment.
      const late = Promise.all(ids.map((id) => harness.ledger().settle(id, used({ output: 20 }))));
      const found = await Promise.all(nodes.map((node) => node.expire()));
      const settled = await late;
      const closedByOwner = settled.filter(({ state }) => state === 'posted').length;
      expect(found.reduce((sum, number) => sum + number, closedByOwner)).toBe(150);
      const charged = settled.reduce((sum, result) => sum + result.charged, 0);
      expect(await accountRow(harness, account)).toMatchObject({
        balance: 1_000_000 - charged,
        held: 0,
        open_holds: 0,
      });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
    PATIENCE_MS,
  );
});

async function holdMany(harness: PostgresHarness, account: TestAccount, count: number): Promise<RequestId[]> {
  return Promise.all(Array.from({ length: count }, () => hold(harness, chatAdmission(account))));
}

interface Blocked<T> {
  readonly change: string;
  readonly waiting: () => Promise<T>;
  readonly meanwhile?: () => Promise<void>;
}

/** Holds the account's row, lets `waiting` run into it, changes the account, and lets go. */
async function whileLocked<T>(
  { backend }: PostgresHarness,
  { id }: TestAccount,
  { change, waiting, meanwhile }: Blocked<T>,
): Promise<T> {
  const client = await backend.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM account WHERE id = $1 FOR UPDATE', [id]);
    const answer = waiting();
    await untilBlocked(client);
    await meanwhile?.();
    await client.query(change);
    await client.query('COMMIT');
    return await answer;
  } finally {
    client.release();
  }
}

async function untilBlocked(client: PoolClient): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      `SELECT 1 FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')`,
    );
    if (rows.length > 0) return;
  }
}

async function holdsOf({ store }: PostgresHarness, { id }: TestAccount): Promise<{ id: string }[]> {
  return store.db.selectFrom('request').select('id').where('account_id', '=', id).execute();
}
