import { afterEach, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { Fault } from '../../std/fault.ts';
import { newRequestId, type RequestId } from '../../std/ids.ts';
import { makeLog, silentLog } from '../../std/log.ts';
import { nanoUsd } from '../../std/money.ts';
import { openStore, type SqliteBackend } from '../../store/store.ts';
import { Wal } from '../../store/wal.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  FAILED,
  hold,
  requestRow,
  used,
} from '../testing/contract-harness.ts';
import { bookableOverrun } from '../decide.ts';
import type { Ledger } from '../port.ts';
import { sqliteBackend, sqliteHarness, type SqliteHarness } from '../testing/sqlite-harness.ts';
import { SqliteLedger } from './ledger.ts';
import { LEDGER_SQL } from '../postgres/functions.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function harnessed(log = silentLog): Promise<SqliteHarness> {
  const harness = await sqliteHarness(log);
  closers.push(() => harness.close());
  return harness;
}

/** A second ledger on the same books, with parts of its backend replaced. */
function another(harness: SqliteHarness, replaced: Partial<SqliteBackend>, node = 'another'): SqliteLedger {
  const clock = { now: () => Date.UTC(2030, 4, 15, 12) };
  const ledger = new SqliteLedger({
    backend: { ...harness.backend, ...replaced },
    log: silentLog,
    clock,
    node,
  });
  closers.push(() => ledger.close());
  return ledger;
}

async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof Fault)) throw new Error(`expected a fault, got ${String(thrown)}`);
  return thrown;
}

describe('a database that another process has locked', () => {
  test('delays requests while the event loop goes on', async () => {
    const harness = await harnessed();
    const account = await addAccount(harness, 10_000);
    const other = harness.backend.open();
    other.run('BEGIN IMMEDIATE');
    const admission = harness.ledger().admit(chatAdmission(account));
    let turns = 0;
    for (; turns < 20; turns++) await Bun.sleep(1);
    other.run('COMMIT');
    other.close();
    expect(await admission).toMatchObject({ kind: 'admitted' });
  });

  test('for long is service_unavailable with Retry-After, then all is well again', async () => {
    const harness = await harnessed();
    const account = await addAccount(harness, 10_000);
    const id = await hold(harness, chatAdmission(account));
    const other = harness.backend.open();
    other.run('BEGIN IMMEDIATE');
    const faults = await Promise.all([
      faultOf(harness.ledger().admit(chatAdmission(account))),
      faultOf(harness.ledger().settle(id, used({ output: 1 }))),
    ]);
    expect(other.inTransaction).toBe(true);
    for (const fault of faults)
      expect(fault).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
    expect(await harness.ledger().identify({ kind: 'token', hash: account.hash })).toMatchObject({
      openHolds: 1,
    });
    other.run('COMMIT');
    other.close();
    expect(await harness.ledger().settle(id, used({ output: 1 }))).toMatchObject({ charged: nanoUsd(2) });
  });

  test('lets no more than a bounded number wait', async () => {
    const harness = await harnessed();
    const account = await addAccount(harness, 10_000);
    const other = harness.backend.open();
    other.run('BEGIN IMMEDIATE');
    let answered = 0;
    const waiting = Array.from({ length: 10_000 }, () =>
      harness
        .ledger()
        .admit(chatAdmission(account))
        .then(() => answered++)
        .catch(() => answered++),
    );
    expect((await faultOf(harness.ledger().admit(chatAdmission(account)))).code).toBe('service_unavailable');
    expect(answered).toBe(0);
    await Promise.all(waiting);
    other.run('ROLLBACK');
    other.close();
    expect(await accountRow(harness, account)).toMatchObject({ held: 0, open_holds: 0 });
    expect(await harness.ledger().admit(chatAdmission(account))).toMatchObject({ kind: 'admitted' });
  });
});

test('a full disk refuses and corrupts nothing, and space alone brings the ledger back', async () => {
  const harness = await harnessed();
  const account = await addAccount(harness, 100_000_000);
  let database: Database | undefined;
  const ledger = another(harness, { open: () => (database = harness.backend.open()) });
  const pages = database?.query<{ page_count: number }, []>('PRAGMA page_count').get()?.page_count ?? 0;
  database?.run(`PRAGMA max_page_count = ${pages + 4}`);
  const admitted: ReturnType<typeof chatAdmission>[] = [];
  let fault: Fault | undefined;
  while (!fault) {
    const request = chatAdmission(account);
    try {
      await ledger.admit(request);
      admitted.push(request);
    } catch (error) {
      fault = error as Fault;
    }
  }
  expect(fault).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
  expect(admitted.length).toBeGreaterThan(0);
  expect(await accountRow(harness, account)).toMatchObject({ open_holds: admitted.length });
  expect((await ledger.verify()).breaches).toEqual([]);
  database?.run('PRAGMA max_page_count = 1000000');
  expect(await ledger.admit(chatAdmission(account))).toMatchObject({ kind: 'admitted' });
  for (const { requestId } of admitted) await ledger.settle(requestId, used({ output: 1 }));
  expect((await ledger.verify()).breaches).toEqual([]);
});

test('an id whose request is over is refused, whichever process closed it', async () => {
  const harness = await harnessed();
  const account = await addAccount(harness, 100_000);
  const other = another(harness, {});
  const request = (madeAt: number) => chatAdmission(account, { requestId: newRequestId(madeAt) });
  const [first, second, third] = [request(1_000), request(2_000), request(3_000)];
  const close = async (ledger: Ledger, one: typeof first): Promise<void> => {
    await ledger.admit(one);
    await ledger.settle(one.requestId, used({ output: 1 }));
  };
  const isRefused = async (one: typeof first): Promise<void> =>
    expect((await faultOf(harness.ledger().admit(one))).detail).toContain('is over');
  await close(harness.ledger(), first);
  await close(other, second);
  await isRefused(second);
  await close(harness.ledger(), third);
  for (const one of [third, second, first]) await isRefused(one);
  expect(await accountRow(harness, account)).toMatchObject({ held: 0, open_holds: 0 });
});

test('an operation that breaks the transaction it shares fails alone', async () => {
  const harness = await harnessed();
  const account = await addAccount(harness, 1_000_000);
  const twice = chatAdmission(account);
  const results = await Promise.allSettled([
    harness.ledger().admit(chatAdmission(account)),
    harness.ledger().admit(twice),
    harness.ledger().admit(chatAdmission(account)),
    harness.ledger().admit(twice),
    harness.ledger().admit(chatAdmission(account)),
  ]);
  expect(results.map((result) => result.status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(results[3]).toMatchObject({ reason: { code: 'internal_error' } });
  expect(await accountRow(harness, account)).toMatchObject({ open_holds: 4, held: 4 * 2_100 });
  expect((await harness.ledger().verify()).breaches).toEqual([]);
});

test('a number that was given in a transaction that was rolled back is not used by the next one', async () => {
  const harness = await harnessed();
  const account = await addAccount(harness, 100_000);
  const other = harness.backend.open();
  other.run(`CREATE TRIGGER refuse BEFORE UPDATE ON account BEGIN SELECT RAISE(ABORT, 'not now'); END`);
  const refused = chatAdmission(account, { endpoint: 'first', model: 'first' });
  expect((await faultOf(harness.ledger().admit(refused))).code).toBe('internal_error');
  other.run('DROP TRIGGER refuse');
  // Takes the number that was given to the other one for a moment.
  other.run(`INSERT INTO route (kind, endpoint, model) VALUES ('chat', 'second', 'second')`);
  other.close();
  const request = chatAdmission(account, { endpoint: 'first', model: 'first' });
  await hold(harness, request);
  await harness.ledger().settle(request.requestId, used({ output: 1 }));
  expect(await requestRow(harness, request.requestId)).toMatchObject({ endpoint: 'first', model: 'first' });
});

describe('durability', () => {
  class HeldWal extends Wal {
    readonly asked: PromiseWithResolvers<void>[] = [];
    override sync(): Promise<void> {
      const sync = Promise.withResolvers<void>();
      this.asked.push(sync);
      return sync.promise;
    }
  }
  const heldWal = ({ backend: { path, background } }: SqliteHarness) =>
    new HeldWal({ path: `${path}-wal`, connection: new Database(':memory:'), background, log: silentLog });

  test.each([
    ['a charge', (ledger: SqliteLedger, id: RequestId) => ledger.settle(id, used({ output: 5 })), 10],
    ['a void', (ledger: SqliteLedger, id: RequestId) => ledger.void(id, FAILED), 0],
  ] as const)(
    'an admission is answered when committed, %s only when it is on the disk',
    async (_name, close, charged) => {
      const harness = await harnessed();
      const wal = heldWal(harness);
      const account = await addAccount(harness, 10_000);
      const ledger = another(harness, { wal });
      const request = chatAdmission(account);
      expect(await ledger.admit(request)).toMatchObject({ kind: 'admitted' });
      expect(wal.asked).toHaveLength(0);
      let answered = false;
      const settled = close(ledger, request.requestId).then((result) => {
        answered = true;
        return result;
      });
      // Later admissions pass the settlement that waits for the disk.
      while (wal.asked.length === 0) await ledger.admit(chatAdmission(account));
      expect(await ledger.admit(chatAdmission(account))).toMatchObject({ kind: 'admitted' });
      expect(answered).toBe(false);
      wal.asked[0]!.resolve();
      expect(await settled).toMatchObject({ charged: nanoUsd(charged) });
    },
  );

  test('a sync that fails is service_unavailable, and asking again finds the charge, once', async () => {
    const harness = await harnessed();
    const wal = heldWal(harness);
    const account = await addAccount(harness, 10_000);
    const ledger = another(harness, { wal });
    const request = chatAdmission(account);
    await ledger.admit(request);
    const failing = faultOf(ledger.settle(request.requestId, used({ output: 5 })));
    while (wal.asked.length === 0) await Bun.sleep(0);
    wal.asked[0]!.reject(new Error('EIO'));
    expect((await failing).code).toBe('service_unavailable');
    expect(await harness.ledger().settle(request.requestId, used({ output: 900 }))).toMatchObject({
      charged: nanoUsd(10),
    });
  });

  test('closing finishes what was asked for, closes the database, then refuses', async () => {
    const harness = await harnessed();
    const account = await addAccount(harness, 10_000);
    const database = harness.backend.open();
    const ledger = new SqliteLedger({
      backend: { ...harness.backend, open: () => database },
      log: silentLog,
      clock: { now: () => 1 },
      node: 'x',
    });
    const request = chatAdmission(account);
    await ledger.admit(request);
    const settled = ledger.settle(request.requestId, used({ output: 5 }));
    await ledger.close();
    expect(await settled).toMatchObject({ state: 'posted' });
    expect(() => database.run('SELECT 1')).toThrow();
    expect((await faultOf(ledger.admit(chatAdmission(account)))).code).toBe('service_unavailable');
  });
});

describe('holds of a process that is gone', () => {
  test('are closed at the start, its own are not', async () => {
    const harness = await harnessed();
    const account = await addAccount(harness, 10_000);
    const old = await hold(harness, chatAdmission(account));
    const ledger = another(harness, {}, 'next');
    const own = chatAdmission(account);
    await ledger.admit(own);
    expect(await ledger.recover()).toBe(1);
    expect(await requestRow(harness, old)).toMatchObject({ state: 'void', outcome: 'expired' });
    expect(await requestRow(harness, own.requestId)).toMatchObject({ state: 'pending' });
  });

  test('are left to their leases while another server uses the folder', async () => {
    const harness = await harnessed();
    const account = await addAccount(harness, 10_000);
    expect(await harness.ledger().recover()).toBe(0);
    const running = await hold(harness, chatAdmission(account));
    const store = await openStore({
      dataDir: harness.dataDir,
      log: silentLog,
      clock: { now: () => 1 },
      ledgerSql: LEDGER_SQL,
    });
    closers.push(() => store.close());
    const second = another(harness, sqliteBackend(store), 'second');
    expect(await second.recover()).toBe(0);
    expect(await requestRow(harness, running)).toMatchObject({ state: 'pending' });
  });
});

test('an overrun alarms the operator, after the commit and once', async () => {
  const lines: string[] = [];
  const harness = await harnessed(makeLog((line) => lines.push(line)));
  const account = await addAccount(harness, 2_100);
  const id = await hold(harness, chatAdmission(account));
  await harness.ledger().settle(id, used({ output: 5_000 }));
  await harness.ledger().settle(id, used({ output: 5_000 }));
  await harness.ledger().void(id, FAILED);
  const alarms = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['event'] === 'overrun');
  expect(alarms).toMatchObject([{ level: 'error', request: id, overrunNanoUsd: 7_900 }]);
});

test('the operator’s losses never leave the range of exact integers', () => {
  const huge = nanoUsd(8_000_000_000_000_000);
  expect(bookableOverrun(huge, 0)).toBe(huge);
  expect(bookableOverrun(huge, 7_999_999_999_999_999)).toBe(nanoUsd(1));
  expect(bookableOverrun(huge, 8_000_000_000_000_000)).toBe(nanoUsd(0));
});
