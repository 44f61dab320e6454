import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { startFaultProxy, type FaultProxy } from '../../../test/support/fault-proxy.ts';
import { postgresHarness, type PostgresHarness } from '../../../test/support/postgres-ledger.ts';
import { randomPart, type RequestId } from '../../std/ids.ts';
import { makeLog } from '../../std/log.ts';
import { accountRow, addAccount, chatAdmission, requestRow } from '../testing/contract-harness.ts';
import { LedgerPool } from './pool.ts';

/** Connections that break at the worst moment: what was promised is kept, and the process lives on. */

const DEADLINE_MS = 60_000;
let harness: PostgresHarness;
let proxy: FaultProxy;
let url: URL;
beforeEach(async () => {
  harness = await postgresHarness();
  url = new URL(harness.backend.url);
  proxy = await startFaultProxy(Number(url.port));
  url.port = String(proxy.port);
}, DEADLINE_MS);
afterEach(async () => {
  await proxy.close();
  expect((await harness.ledger().verify()).breaches).toEqual([]);
  await harness.close();
}, DEADLINE_MS);

async function comeBack(): Promise<void> {
  proxy = await startFaultProxy(Number(new URL(harness.backend.url).port), undefined, proxy.port);
}

const rowsOf = async (text: string): Promise<number> => (await harness.backend.pool.query(text)).rows.length;
const activity = (where: string): string => `SELECT 1 FROM pg_stat_activity WHERE ${where}`;

/** Resolves when the condition holds; each look is a round trip. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) continue;
}

test(
  'an account that somebody has locked holds up nobody else, by token or signed in',
  async () => {
    const [locked, ...others] = await Promise.all([1, 2, 3].map(() => addAccount(harness, 100_000)));
    const lock = await harness.backend.pool.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT 1 FROM account WHERE id = $1 FOR UPDATE', [locked!.id]);
    const waiting = harness.ledger().admit(chatAdmission(locked!));
    const waits = activity(`wait_event_type = 'Lock' AND query LIKE '%ledger_admit%'`);
    await until(async () => (await rowsOf(waits)) > 0);
    const [byToken, signedIn] = [
      chatAdmission(others[0]!),
      chatAdmission(others[1]!, { caller: { kind: 'account', id: others[1]!.id } }),
    ];
    expect(await harness.ledger().admit(byToken)).toMatchObject({ kind: 'admitted' });
    expect(await harness.ledger().admit(signedIn)).toMatchObject({ kind: 'admitted' });
    await lock.query('COMMIT');
    lock.release();
    expect(await waiting).toMatchObject({ kind: 'admitted' });
  },
  DEADLINE_MS,
);

test(
  'a hold that was written after its connection broke is released: the client was told to come back',
  async () => {
    const account = await addAccount(harness, 100_000);
    const node = harness.anotherNode(`far-${randomPart(4)}`, { url: url.href });
    try {
      const admission = chatAdmission(account);
      await node.identify({ kind: 'account', id: account.id });
      const lock = await harness.backend.pool.connect();
      await lock.query('BEGIN');
      await lock.query('SELECT 1 FROM account WHERE id = $1 FOR UPDATE', [account.id]);
      const answer = node.admit(admission).catch((error: unknown) => error);
      const waits = activity(`wait_event_type = 'Lock' AND query LIKE '%ledger_admit%'`);
      await until(async () => (await rowsOf(waits)) > 0);
      // The statement waits on, the connection is gone, and there is no other to ask what became of it.
      await proxy.close();
      expect(await answer).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
      await lock.query('COMMIT');
      lock.release();
      const stateOf = async (id: RequestId) => (await requestRow(harness, id).catch(() => undefined))?.state;
      await until(async () => (await stateOf(admission.requestId)) === 'pending');
      await comeBack();
      await until(async () => (await stateOf(admission.requestId)) !== 'pending');
      expect(await requestRow(harness, admission.requestId)).toMatchObject({
        state: 'void',
        outcome: 'shed',
      });
      expect(await accountRow(harness, account)).toMatchObject({ balance: 100_000, held: 0, open_holds: 0 });
    } finally {
      await node.close();
    }
  },
  DEADLINE_MS,
);

describe('a check of the books', () => {
  test(
    'whose connection breaks is unavailable, and the next one is made over another',
    async () => {
      const node = harness.anotherNode(`far-${randomPart(4)}`, { url: url.href });
      const lock = await harness.backend.pool.connect();
      try {
        await lock.query('BEGIN');
        await lock.query('LOCK TABLE account IN ACCESS EXCLUSIVE MODE');
        const checking = node.verify().catch((error: unknown) => error);
        const waits = activity(`wait_event_type = 'Lock' AND application_name = 'tollgate verify'`);
        await until(async () => (await rowsOf(waits)) > 0);
        await proxy.close();
        expect(await checking).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
        await lock.query('COMMIT');
        await comeBack();
        expect((await node.verify()).breaches).toEqual([]);
      } finally {
        lock.release();
        await node.close();
      }
    },
    DEADLINE_MS,
  );
});

test(
  'the operator hears once of each outage, and once of its end',
  async () => {
    const events: string[] = [];
    const log = makeLog((line) => events.push((JSON.parse(line) as { event: string }).event));
    const pool = new LedgerPool({ url: url.href }, log, 1, 20);
    const call = () => pool.call({ name: 'one', text: 'SELECT 1 AS n' }, []);
    const isUp = () =>
      call().then(
        () => true,
        () => false,
      );
    try {
      await call();
      expect(events).toEqual([]);
      for (let outage = 1; outage <= 2; outage++) {
        await proxy.close();
        for (let times = 0; times < 3; times++) expect(call()).rejects.toMatchObject({ name: 'CallFailed' });
        await until(async () => !(await isUp()));
        await comeBack();
        await until(isUp);
        await call();
        const expected = ['ledger_unavailable', 'ledger_recovered'];
        expect(events).toEqual(outage === 1 ? expected : [...expected, ...expected]);
      }
    } finally {
      await pool.close();
    }
  },
  DEADLINE_MS,
);
