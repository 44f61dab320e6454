import { afterEach, beforeEach, expect, spyOn, test, type Mock } from 'bun:test';
import type { Ledger } from '../../ledger/port.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  FAILED,
  hold,
  requestRow,
  used,
} from '../../ledger/testing/contract-harness.ts';
import { sqliteHarness, type SqliteHarness } from '../../ledger/testing/sqlite-harness.ts';
import { newRequestId } from '../../std/ids.ts';
import { makeLog, silentLog } from '../../std/log.ts';
import type { HoldEnd } from '../call.ts';
import { closeHold } from './active-hold.ts';
import { SettlementRetryQueue } from './settlement-retry-queue.ts';

/** A store that is unavailable for a while, on a real ledger. The pauses are recorded instead of waited for. */

let harness: SqliteHarness;
let pauses: Mock<typeof Bun.sleep>;
let slept: number[];
const realSleep = Bun.sleep;
const NO_DEADLINE_MS = 1_000_000;

beforeEach(async () => {
  harness = await sqliteHarness();
  slept = [];
  pauses = spyOn(Bun, 'sleep').mockImplementation((ms) => {
    if (ms === NO_DEADLINE_MS) return new Promise(() => undefined);
    slept.push(Number(ms));
    return realSleep(0);
  });
});
afterEach(async () => {
  pauses.mockRestore();
  await harness.close();
});

/** The ledger, failing every call that `isAway` selects. */
function unreliable(isAway: (call: number) => boolean): Ledger {
  let calls = 0;
  const ledger = harness.ledger();
  const guarded =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      isAway(++calls) ? Promise.reject(new Error('the store is away')) : work(...args);
  return Object.assign(Object.create(ledger) as Ledger, {
    settle: guarded(ledger.settle.bind(ledger)),
    void: guarded(ledger.void.bind(ledger)),
  });
}

/** Closes a hold like a running request: a failure goes to the queue. */
async function closeOrQueue(ledger: Ledger, queue: SettlementRetryQueue, end: HoldEnd) {
  try {
    return await closeHold(ledger, end);
  } catch (thrown) {
    queue.retryLater(end, thrown);
    return undefined;
  }
}

test('what could not be closed while the store was unavailable is charged once when it is back, and voids stay voids', async () => {
  const account = await addAccount(harness, 10_000);
  const [charged, failed] = [
    await hold(harness, chatAdmission(account)),
    await hold(harness, chatAdmission(account)),
  ];
  const ledger = unreliable((call) => call <= 4);
  const queue = new SettlementRetryQueue(ledger, silentLog);
  const settlement = used({ input: 10, output: 50 });
  expect(
    await closeOrQueue(ledger, queue, { kind: 'settle', requestId: charged, settlement }),
  ).toBeUndefined();
  expect(
    await closeOrQueue(ledger, queue, { kind: 'void', requestId: failed, ending: FAILED }),
  ).toBeUndefined();
  expect(queue.waiting).toBe(2);
  await queue.drained(NO_DEADLINE_MS);
  expect(queue.waiting).toBe(0);
  expect(await requestRow(harness, charged)).toMatchObject({ state: 'posted', charged: 110 });
  expect(await requestRow(harness, failed)).toMatchObject({ state: 'void', charged: 0 });
  expect(await accountRow(harness, account)).toMatchObject({ balance: 9_890, held: 0, open_holds: 0 });
  expect((await harness.ledger().verify()).breaches).toEqual([]);
});

test('with an available store nothing waits', async () => {
  const account = await addAccount(harness, 10_000);
  const requestId = await hold(harness, chatAdmission(account));
  const ledger = harness.ledger();
  const queue = new SettlementRetryQueue(ledger, silentLog);
  expect(
    await closeOrQueue(ledger, queue, { kind: 'settle', requestId, settlement: used({ output: 1 }) }),
  ).toMatchObject({
    state: 'posted',
    charged: 2,
  });
  expect(queue.waiting).toBe(0);
  expect(slept).toEqual([]);
});

test('the pauses double from 100 ms to two seconds, and are short again once something was closed', async () => {
  const account = await addAccount(harness, 100_000);
  const first = await hold(harness, chatAdmission(account));
  const second = await hold(harness, chatAdmission(account));
  // Seven rounds of both fail; then one is closed, and the other only in the next round.
  const ledger = unreliable((call) => call <= 16 || call === 18);
  const queue = new SettlementRetryQueue(ledger, silentLog);
  await closeOrQueue(ledger, queue, { kind: 'settle', requestId: first, settlement: used({ output: 1 }) });
  await closeOrQueue(ledger, queue, { kind: 'settle', requestId: second, settlement: used({ output: 1 }) });
  await queue.drained(NO_DEADLINE_MS);
  expect(slept).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000, 100]);
  expect(queue.waiting).toBe(0);
});

test('a second outage is retried like the first', async () => {
  const account = await addAccount(harness, 100_000);
  let away = true;
  const ledger = unreliable(() => away);
  const queue = new SettlementRetryQueue(ledger, silentLog);
  for (const _ of [1, 2]) {
    away = true;
    const requestId = await hold(harness, chatAdmission(account));
    await closeOrQueue(ledger, queue, { kind: 'settle', requestId, settlement: used({ output: 1 }) });
    expect(queue.waiting).toBe(1);
    away = false;
    await queue.drained(NO_DEADLINE_MS);
    expect(queue.waiting).toBe(0);
    expect(await requestRow(harness, requestId)).toMatchObject({ state: 'posted' });
  }
});

test('waiting for the queue ends at its deadline if the store stays unavailable', async () => {
  const ledger = unreliable(() => true);
  const queue = new SettlementRetryQueue(ledger, silentLog);
  // Retries never get to the end of their pause; the deadline does.
  pauses.mockImplementation((ms) => (ms === 5 ? realSleep(0) : new Promise(() => undefined)));
  await closeOrQueue(ledger, queue, { kind: 'void', requestId: newRequestId(1), ending: FAILED });
  await queue.drained(5);
  expect(queue.waiting).toBe(1);
});

test('at most twenty thousand wait: any more are left to expire, and that is logged', async () => {
  pauses.mockImplementation(() => new Promise(() => undefined));
  const errors: string[] = [];
  const ledger = unreliable(() => true);
  const queue = new SettlementRetryQueue(
    ledger,
    makeLog((line) => void (line.includes('"level":"error"') && errors.push(line))),
  );
  const close = () =>
    closeOrQueue(ledger, queue, { kind: 'void', requestId: newRequestId(1), ending: FAILED });
  for (let n = 0; n < 20_000; n++) await close();
  expect(queue.waiting).toBe(20_000);
  expect(errors).toEqual([]);
  expect(await close()).toBeUndefined();
  expect(queue.waiting).toBe(20_000);
  expect(errors).toHaveLength(1);
});
