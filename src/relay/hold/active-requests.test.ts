import { afterEach, describe, expect, test } from 'bun:test';
import type { Ledger, Progress } from '../../ledger/port.ts';
import { NO_USAGE, type Usage } from '../../ledger/price.ts';
import { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';
import type { ActiveRequest } from '../call.ts';
import { ActiveRequests } from './active-hold.ts';

/** What the shared tick does for all running requests. The test controls the clock; the ledger records its calls. */

let open: ActiveRequests | undefined;
afterEach(() => open?.stop());

function begin(leaseMs: number) {
  const ended: RequestId[] = [];
  const renewals: (readonly Progress[])[] = [];
  let nowMs = 50_000;
  let woken = Promise.withResolvers<void>();
  let failing = false;
  const closed: RequestId[] = [];
  const ledger = {
    renew(progress: readonly Progress[]) {
      renewals.push(progress);
      woken.resolve();
      woken = Promise.withResolvers();
      return failing ? Promise.reject(new Error('the store is away')) : Promise.resolve(closed.splice(0));
    },
  } as unknown as Ledger;
  const requests = new ActiveRequests({
    ledger,
    clock: { now: () => nowMs },
    log: silentLog,
    leaseMs,
    longestMs: () => 60_000,
    requestSlots: { ended: (requestId) => void ended.push(requestId) },
  });
  open = requests;
  return {
    requests,
    ended,
    renewals,
    advance: (ms: number) => void (nowMs += ms),
    fail: (yes: boolean) => void (failing = yes),
    close: (requestId: RequestId) => void closed.push(requestId),
    async renewed(count: number) {
      while (renewals.length < count) await woken.promise;
    },
  };
}

function request(name: string) {
  let ticked = Promise.withResolvers<number>();
  const cuts: Fault[] = [];
  const active: ActiveRequest = {
    requestId: name as RequestId,
    delivered: () => ({ ...NO_USAGE, output: name.length }),
    tick(nowMs) {
      ticked.resolve(nowMs);
      ticked = Promise.withResolvers();
    },
    cut: (fault) => void cuts.push(fault),
  };
  return { active, cuts, ticked: () => ticked.promise };
}

test('one that is over gives its place back', () => {
  const { requests, ended } = begin(60_000);
  const { active } = request('req_1');
  requests.add(active);
  expect(ended).toEqual([]);
  requests.remove(active.requestId);
  expect(ended).toEqual([active.requestId]);
});

describe('leases', () => {
  test('are renewed four times per lease, with the usage metered so far, and not more often', async () => {
    const { requests, renewals, advance, renewed } = begin(20_000);
    const one = request('req_one');
    requests.add(one.active);
    advance(4_999);
    expect(await one.ticked()).toBe(54_999);
    await one.ticked();
    expect(renewals).toEqual([]);
    advance(1);
    await renewed(1);
    expect(renewals).toEqual([[{ requestId: one.active.requestId, delivered: { ...NO_USAGE, output: 7 } }]]);
    // The next quarter begins with this renewal.
    await one.ticked();
    expect(renewals).toHaveLength(1);
    advance(5_000);
    await renewed(2);
  });

  test('are renewed every ten seconds if they are long', async () => {
    const { requests, renewals, advance, renewed } = begin(120_000);
    const one = request('req_one');
    requests.add(one.active);
    advance(9_999);
    await one.ticked();
    await one.ticked();
    expect(renewals).toEqual([]);
    advance(1);
    await renewed(1);
  });

  test('of more than 500 requests are renewed in batches of 500, each request once', async () => {
    const { requests, renewals, advance, renewed } = begin(120_000);
    const names = Array.from({ length: 1_201 }, (_, index) => `req_${index}`);
    for (const name of names) requests.add(request(name).active);
    advance(10_000);
    await renewed(3);
    expect(renewals.map(({ length }) => length)).toEqual([500, 500, 201]);
    expect(renewals.flat().map(({ requestId }) => String(requestId))).toEqual(names);
  });

  test('whose renewal failed are renewed the next time', async () => {
    const { requests, advance, renewed, fail } = begin(120_000);
    requests.add(request('req_one').active);
    fail(true);
    advance(10_000);
    await renewed(1);
    fail(false);
    advance(10_000);
    await renewed(2);
  });
});

describe('what a backend has accepted', () => {
  test('is written after a second, once its input is counted, and not for a request that is over by then', async () => {
    const { requests, renewals, advance, renewed } = begin(120_000);
    const counted = Promise.withResolvers<void>();
    const [stream, short, whole] = [request('req_stream'), request('req_short'), request('req_whole')];
    let input = 0;
    const delivered = (): Usage => ({ ...NO_USAGE, input });
    requests.add({ ...stream.active, delivered, countInput: () => counted.promise });
    requests.add({ ...short.active, countInput: () => Promise.resolve() });
    requests.add(whole.active);
    advance(999);
    await whole.ticked();
    await whole.ticked();
    requests.remove(short.active.requestId);
    advance(1);
    await whole.ticked();
    expect(renewals).toEqual([]);
    input = 12_000;
    counted.resolve();
    await renewed(1);
    expect(renewals).toEqual([
      [{ requestId: stream.active.requestId, delivered: { ...NO_USAGE, input: 12_000 } }],
    ]);
    advance(1_000);
    await whole.ticked();
    await whole.ticked();
    expect(renewals).toHaveLength(1);
  });
});

test('a request that somebody else has closed is ended with an error', async () => {
  const { requests, advance, renewed, close } = begin(20_000);
  const [lost, kept] = [request('req_lost'), request('req_kept')];
  requests.add(lost.active);
  requests.add(kept.active);
  close(lost.active.requestId);
  advance(5_000);
  await renewed(1);
  await kept.ticked();
  expect(lost.cuts).toMatchObject([{ code: 'service_unavailable' }]);
  expect(kept.cuts).toEqual([]);
});

describe('a request that lives longer than its deadlines allow', () => {
  test('is ended with an error, once; if it still runs then, its lease is left to run out', async () => {
    const { requests, renewals, advance, renewed } = begin(120_000);
    const [stuck, young] = [request('req_stuck'), request('req_young')];
    requests.add(stuck.active);
    advance(60_000);
    requests.add(young.active);
    // Its stream is delivered by another part from here on; its age stays.
    const delivered = request('req_stuck');
    requests.add(delivered.active);
    await delivered.ticked();
    advance(9_999);
    await delivered.ticked();
    await delivered.ticked();
    expect(delivered.cuts).toEqual([]);
    advance(2);
    await delivered.ticked();
    await delivered.ticked();
    expect(delivered.cuts).toMatchObject([{ code: 'upstream_timeout' }]);
    expect(young.cuts).toEqual([]);
    expect(requests.size).toBe(2);
    advance(10_000);
    await young.ticked();
    await young.ticked();
    expect(requests.size).toBe(1);
    const before = renewals.length;
    advance(10_000);
    await renewed(before + 1);
    expect(renewals.at(-1)?.map(({ requestId }) => String(requestId))).toEqual(['req_young']);
    expect(delivered.cuts).toHaveLength(1);
  });
});

describe('a shutdown', () => {
  test('waits for the last request, and not at all when nothing runs', async () => {
    const { requests } = begin(120_000);
    expect(await requests.idle(60_000)).toBe(true);
    const [one, two] = [request('req_1'), request('req_2')];
    requests.add(one.active);
    requests.add(two.active);
    expect(requests.size).toBe(2);
    let isIdle = false;
    const idle = Promise.all([requests.idle(60_000), requests.idle(60_000)]).finally(() => (isIdle = true));
    requests.remove(one.active.requestId);
    await two.ticked();
    expect(isIdle).toBe(false);
    requests.remove(two.active.requestId);
    expect(await idle).toEqual([true, true]);
    expect(requests.size).toBe(0);
  });

  test('reports that the grace period passed while something still runs, and cuts it off', async () => {
    const { requests } = begin(120_000);
    const running = [request('req_1'), request('req_2')];
    for (const { active } of running) requests.add(active);
    expect(await requests.idle(1)).toBe(false);
    const fault = new Fault('service_unavailable', 'shutdown');
    requests.cutAll(fault);
    expect(running.map(({ cuts }) => cuts)).toEqual([[fault], [fault]]);
  });
});
