import { describe, expect, test } from 'bun:test';
import type { Ending, Settled, Settlement } from '../../ledger/port.ts';
import { NO_USAGE } from '../../ledger/price.ts';
import { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { AllAttemptsFailed } from '../attempts.ts';
import type { Call, FinishedRequest, HoldEnd, RelayParts } from '../call.ts';
import { ActiveHold, type RequestResult } from './active-hold.ts';

/** One hold: how long its attempts may take, and that it is closed once, with the truth in its receipt. */

function begin({ streamed = false, overrun = 0, isStoreAway = false } = {}) {
  let nowMs = 10_000;
  const closes: HoldEnd[] = [];
  const requests: FinishedRequest[] = [];
  const overruns: number[] = [];
  const active = new Set<string>();
  const client = new AbortController();
  const settled: Settled = {
    state: 'posted',
    charged: nanoUsd(5),
    held: nanoUsd(9),
    overrun: nanoUsd(overrun),
    available: nanoUsd(1),
  };
  const close = (end: HoldEnd): Promise<Settled> => {
    if (isStoreAway) return Promise.reject(new Fault('service_unavailable', 'Retry soon.'));
    closes.push(end);
    return Promise.resolve(settled);
  };
  const parts = {
    clock: { now: () => nowMs },
    ledger: {
      settle: (requestId: RequestId, settlement: Settlement) =>
        close({ kind: 'settle', requestId, settlement }),
      void: (requestId: RequestId, ending: Ending) => close({ kind: 'void', requestId, ending }),
    },
    settlements: { retryLater: (end: HoldEnd) => void closes.push(end) },
    activeRequests: {
      add: ({ requestId }: ActiveHold) => void active.add(requestId),
      remove: (requestId: string) => void active.delete(requestId),
    },
    metrics: {
      request: (done: FinishedRequest) => void requests.push(done),
      overrun: (amount: number) => void overruns.push(amount),
    },
  } as unknown as RelayParts;
  const call = {
    requestId: 'req_1' as RequestId,
    selector: { code: 'svc_chat' },
    signal: client.signal,
  } as unknown as Call<unknown>;
  const hold = new ActiveHold(call, parts, streamed);
  return { hold, closes, requests, overruns, active, client, advance: (ms: number) => void (nowMs += ms) };
}

const TIMEOUTS = { firstByteMs: 100, idleMs: 1, totalMs: 500 };
const RESULT: RequestResult = {
  outcome: 'completed',
  measured: { usage: { ...NO_USAGE, output: 3 }, source: 'upstream' },
  upstream: 'b0',
  attempts: [{ upstream: 'b0', result: 'served', durationMs: 4 }],
  firstByteMs: 4,
  finishReason: 'stop',
};

describe('the deadline of an attempt', () => {
  test.each([
    ['a stream', true, 10_100],
    ['a whole answer', false, 10_500],
  ])('of %s ends it at that moment and not before', (_, streamed, deadline) => {
    const { hold } = begin({ streamed });
    const signal = hold.begin(TIMEOUTS);
    hold.tick(deadline - 1);
    expect({ aborted: signal.aborted, timedOut: hold.timedOut }).toEqual({ aborted: false, timedOut: false });
    hold.tick(deadline);
    expect({ aborted: signal.aborted, timedOut: hold.timedOut }).toEqual({ aborted: true, timedOut: true });
    expect(signal.reason).toMatchObject({ kind: 'timeout' });
  });

  test('ends nothing once the attempt is over, and the next one has a deadline of its own', () => {
    const { hold, advance } = begin();
    const first = hold.begin(TIMEOUTS);
    hold.end();
    hold.tick(1_000_000);
    expect(first.aborted).toBe(false);
    hold.begin(TIMEOUTS);
    hold.tick(10_500);
    expect(hold.timedOut).toBe(true);
    advance(500);
    const next = hold.begin(TIMEOUTS);
    expect(hold.timedOut).toBe(false);
    hold.tick(10_999);
    expect(next.aborted).toBe(false);
    hold.tick(11_000);
    expect(next.aborted).toBe(true);
  });
});

describe('nobody waits for the answer any more', () => {
  test('when the client of a stream has left; a whole answer is waited for', () => {
    for (const streamed of [true, false]) {
      const { hold, client } = begin({ streamed });
      expect(hold.isAbandoned).toBe(false);
      client.abort();
      expect(hold.isAbandoned).toBe(streamed);
      expect(hold.begin(TIMEOUTS).aborted).toBe(streamed);
    }
  });

  test('at a shutdown: the attempt ends, and the client hears why', async () => {
    const { hold, closes } = begin();
    const signal = hold.begin(TIMEOUTS);
    expect(signal.aborted).toBe(false);
    const shutdown = new Fault('service_unavailable', 'shutting down');
    hold.cut(shutdown);
    expect(signal.aborted).toBe(true);
    expect(hold.isAbandoned).toBe(true);
    const thrown = await hold
      .voidOnFailure(() => Promise.reject(new Error('aborted')))
      .catch((error: unknown) => error);
    expect(thrown).toBe(shutdown);
    expect(closes).toMatchObject([{ kind: 'void', ending: { errorCode: 'service_unavailable' } }]);
  });
});

describe('a hold', () => {
  test('is charged with all that the receipt needs, once, and is no longer active', async () => {
    const { hold, closes, requests, active, advance, overruns } = begin();
    expect([...active]).toEqual(['req_1']);
    advance(25);
    expect(await hold.settle(RESULT)).toMatchObject({ charged: 5 });
    expect(await hold.settle(RESULT)).toBeUndefined();
    expect(closes).toEqual([
      {
        kind: 'settle',
        requestId: 'req_1' as RequestId,
        settlement: {
          outcome: 'completed',
          upstream: 'b0',
          attempts: RESULT.attempts,
          firstByteMs: 4,
          finishReason: 'stop',
          errorCode: undefined,
          durationMs: 25,
          usage: RESULT.measured.usage,
          source: 'upstream',
        },
      },
    ]);
    expect(requests).toEqual([
      { endpoint: 'svc_chat', outcome: 'completed', durationMs: 25, firstByteMs: 4 },
    ]);
    expect([...active]).toEqual([]);
    expect(overruns).toEqual([]);
  });

  test('tells what a backend used beyond it, however little', async () => {
    const { hold, overruns } = begin({ overrun: 1 });
    await hold.settle(RESULT);
    expect(overruns).toEqual([1]);
  });

  test('whose charge is still to follow is counted all the same', async () => {
    const { hold, requests, active } = begin({ isStoreAway: true });
    expect(await hold.settle(RESULT)).toBeUndefined();
    expect(requests).toHaveLength(1);
    expect([...active]).toEqual([]);
  });

  test('is released when no backend answered, with the last one that was asked, and the client hears the fault', async () => {
    const { hold, closes, requests, advance } = begin();
    const fault = new Fault('upstream_error', 'nobody answered');
    const attempts = [
      { upstream: 'b0', result: 'failed', reason: 'server', durationMs: 3 },
      { upstream: 'b1', result: 'skipped', reason: 'resting', durationMs: 0 },
    ] as const;
    advance(8);
    const thrown = await hold
      .voidOnFailure(() => Promise.reject(new AllAttemptsFailed(fault, attempts)))
      .catch((error: unknown) => error);
    expect(thrown).toBe(fault);
    const ending = {
      outcome: 'upstream_failed',
      attempts,
      upstream: 'b0',
      errorCode: 'upstream_error',
      durationMs: 8,
    };
    expect(closes).toMatchObject([{ kind: 'void', requestId: 'req_1', ending }]);
    expect(requests).toMatchObject([{ outcome: 'upstream_failed', durationMs: 8 }]);
  });

  test('is released as the client’s when it was the client that left, and as an error of ours when nobody foresaw it', async () => {
    const { hold, closes, client } = begin();
    client.abort();
    const strange = new Error('strange');
    expect(await hold.voidOnFailure(() => Promise.reject(strange)).catch((error: unknown) => error)).toBe(
      strange,
    );
    expect(closes).toMatchObject([
      { kind: 'void', ending: { outcome: 'client_left', errorCode: 'internal_error', attempts: [] } },
    ]);
  });

  test('that was settled is not released by a failure that comes after', async () => {
    const { hold, closes } = begin();
    const work = async (): Promise<never> => {
      await hold.settle(RESULT);
      throw new Error('after');
    };
    expect(hold.voidOnFailure(work)).rejects.toThrow('after');
    await hold.voidOnFailure(() => Promise.resolve('done'));
    expect(closes.map(({ kind }) => kind)).toEqual(['settle']);
  });

  test('has delivered nothing of its own: the meter of a stream says more', () => {
    expect(begin().hold.delivered()).toEqual(NO_USAGE);
  });
});
