import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPostgres } from '../../test/support/postgres.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import type { AccountId, TokenHash } from '../std/ids.ts';
import { makeLog, silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import {
  RefusedCalls,
  REFUSED_CALL_LIMITS,
  type RefusedCall,
  type RefusedCallLimits,
} from './refused-calls.ts';

describe.each(['SQLite', 'Postgres'])('refused calls on %s', (name) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-refused-'));
  let store: Store;
  let now = 1_800_000_000_000;
  const clock = { now: () => now };
  const lines: string[] = [];
  beforeAll(async () => {
    const databaseUrl = name === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    store = await openStore({ dataDir, databaseUrl, log: silentLog, clock, ledgerSql: LEDGER_SQL });
    for (const id of ['ann', 'ben', 'closed'])
      await store.db
        .insertInto('account')
        .values({
          id,
          email: `${id}@example.com`,
          token_hash: `hash of ${id}`,
          created_at: 1,
          status: id === 'closed' ? 'disabled' : 'active',
        })
        .execute();
  }, 60_000);
  beforeEach(async () => {
    await store.db.deleteFrom('refused_call').execute();
    lines.length = 0;
  });
  afterAll(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const open = (limits: Partial<RefusedCallLimits> = {}): RefusedCalls =>
    new RefusedCalls(
      { store, clock, log: makeLog((line) => lines.push(line)) },
      { ...REFUSED_CALL_LIMITS, ...limits },
    );
  const rows = () =>
    store.db.selectFrom('refused_call').selectAll().orderBy('last_at').orderBy('id').execute();
  const token = (account: string): RefusedCall['caller'] => ({
    kind: 'token',
    hash: `hash of ${account}` as TokenHash,
  });

  test('calls that are refused alike share a row, on all nodes together', async () => {
    const nodes = [open(), open()];
    for (const [index, node] of nodes.entries())
      for (let call = 0; call < 50; call++) node.add(refused({ requestId: `req_${index}_${call}` }));
    await Promise.all(nodes.map((node) => node.flush()));
    nodes[0]?.add(refused({ requestId: 'req_last', message: 'Later.' }));
    await nodes[0]?.flush();
    expect(await rows()).toMatchObject([
      {
        account_id: 'ann',
        calls: 101,
        left_out: 0,
        request_id: 'req_last',
        message: 'Later.',
        reason: 'limit_reached',
      },
    ]);
  });

  test('after ten minutes the same refusal is a new row', async () => {
    const calls = open();
    calls.add(refused());
    await calls.flush();
    now += 600_000;
    calls.add(refused());
    await calls.flush();
    expect((await rows()).map((row) => [row.calls, row.last_at - now])).toEqual([
      [1, -600_000],
      [1, 0],
    ]);
  });

  test('one caller gets so many rows at a time, and what is left out is counted', async () => {
    const calls = open({ waitingOfCaller: 3 });
    for (let call = 0; call < 10; call++) calls.add(refused({ model: `m${call}` }));
    calls.add(refused({ caller: token('ben') }));
    expect(calls.size).toBe(4);
    await calls.flush();
    const written = await rows();
    expect(written.filter((row) => row.account_id === 'ann').length).toBe(3);
    expect(written.filter((row) => row.account_id === 'ben').length).toBe(1);
    expect(written.reduce((sum, row) => sum + row.left_out, 0)).toBe(7);
    expect(calls.size).toBe(0);
  });

  test('all callers together do not fill the memory, and the log says how many were left out', async () => {
    const calls = open({ waiting: 5 });
    for (let caller = 0; caller < 100; caller++) calls.add(refused({ caller: token(`nobody ${caller}`) }));
    expect(calls.size).toBe(5);
    await calls.flush();
    expect(await rows()).toEqual([]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { event: 'rejected_requests_left_out', calls: 95 },
    ]);
  });

  test('an account keeps its newest rows, and so do all accounts together', async () => {
    const calls = open({ rowsOfAccount: 4, rows: 5, waitingOfCaller: 100 });
    for (let call = 0; call < 9; call++) {
      now += 1_000;
      calls.add(refused({ model: `m${call}` }));
    }
    await calls.flush();
    expect((await rows()).map((row) => row.model)).toEqual(['m5', 'm6', 'm7', 'm8']);
    for (let call = 0; call < 3; call++) {
      now += 1_000;
      calls.add(refused({ caller: token('ben'), model: `n${call}` }));
    }
    await calls.flush();
    expect(await calls.sweep()).toBe(2);
    expect((await rows()).map((row) => row.model)).toEqual(['m7', 'm8', 'n0', 'n1', 'n2']);
  });

  test('a row leaves after a week', async () => {
    const calls = open();
    calls.add(refused());
    await calls.flush();
    now += REFUSED_CALL_LIMITS.keptMs - 1;
    expect(await calls.sweep()).toBe(0);
    now += 1;
    expect(await calls.sweep()).toBe(1);
    expect(await rows()).toEqual([]);
  });

  test('calls of a session have their account; of a closed account nothing is kept', async () => {
    const calls = open();
    calls.add(refused({ caller: { kind: 'account', id: 'ben' as AccountId } }));
    calls.add(refused({ caller: { kind: 'account', id: 'closed' as AccountId } }));
    calls.add(refused({ caller: token('closed') }));
    await calls.flush();
    expect((await rows()).map((row) => row.account_id)).toEqual(['ben']);
  });

  function refused(more: Partial<RefusedCall> = {}): RefusedCall {
    return {
      caller: token('ann'),
      requestId: 'req_1',
      operation: '/v1/chat/completions',
      endpoint: 'svc_chat',
      model: 'm',
      client: 'a test',
      status: 402,
      reason: 'limit_reached',
      param: undefined,
      message: 'The limit is reached.',
      ...more,
    };
  }
});
