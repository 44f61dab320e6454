import { describe, expect, spyOn, test } from 'bun:test';
import type { Ending, Settled, Settlement } from '../../ledger/port.ts';
import { NO_USAGE } from '../../ledger/price.ts';
import { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import { stderrLog } from '../../std/log.ts';
import { nanoUsd } from '../../std/money.ts';
import { AllAttemptsFailed } from '../attempts.ts';
import type { RequestEnd } from '../../std/request-record.ts';
import { connectionOf, type Call, type HoldEnd, type RelayParts } from '../call.ts';
import { ActiveHold, type RequestResult } from './active-hold.ts';

/** One hold: the deadlines of its attempts, and that it is closed once, with a true receipt. */

function begin({ streamed = false, overrun = 0, isStoreDown = false, isTellingBroken = false } = {}) {
  let nowMs = 10_000;
  const closes: HoldEnd[] = [];
  const requests: RequestEnd[] = [];
  const chargedLater: RequestEnd[] = [];
  const retried: ((settled: Settled) => void)[] = [];
  const overruns: number[] = [];
  const warned: unknown[] = [];
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
    closes.push(end);
    return isStoreDown ? Promise.reject(new Error('the store is unavailable')) : Promise.resolve(settled);
  };
  const parts = {
    clock: { now: () => nowMs },
    ledger: {
      settle: (requestId: RequestId, settlement: Settlement) =>
        close({ kind: 'settle', requestId, settlement }),
      void: (requestId: RequestId, ending: Ending) => close({ kind: 'void', requestId, ending }),
    },
    settlements: {
      retryLater: (_end: HoldEnd, _thrown: unknown, _fields: unknown, onClosed: (settled: Settled) => void) =>
        void retried.push(onClosed),
    },
    activeRequests: {
      add: ({ requestId }: ActiveHold) => void active.add(requestId),
      remove: (requestId: string) => void active.delete(requestId),
    },
    metrics: {
      request: (done: RequestEnd) => void requests.push(done),
      chargedLater: (done: RequestEnd) => void chargedLater.push(done),
      overrun(amount: number) {
        if (isTellingBroken) throw new Error('the metrics are broken');
        overruns.push(amount);
      },
    },
    log: { warn: (event: string, { kinds }: { kinds: unknown }) => void warned.push([event, kinds]) },
  } as unknown as RelayParts;
  const call = {
    requestId: 'req_1' as RequestId,
    selector: { code: 'svc_chat', model: 'm' },
    connection: connectionOf(client.signal),
  } as unknown as Call<unknown>;
  const hold = new ActiveHold(call, parts, streamed);
  hold.start();
  const advance = (ms: number): void => void (nowMs += ms);
  const closeLater = (): void => retried.forEach((onClosed) => onClosed(settled));
  return { hold, closes, requests, chargedLater, closeLater, overruns, warned, active, client, advance };
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
  ])('of %s aborts it at that moment and not before', (_, streamed, deadline) => {
    const { hold } = begin({ streamed });
    const signal = hold.begin(TIMEOUTS);
    hold.tick(deadline - 1);
    expect({ aborted: signal.aborted, timedOut: hold.timedOut }).toEqual({ aborted: false, timedOut: false });
    hold.tick(deadline);
    expect({ aborted: signal.aborted, timedOut: hold.timedOut }).toEqual({ aborted: true, timedOut: true });
    expect(signal.reason).toMatchObject({ kind: 'timeout' });
  });

  test('aborts nothing once the attempt is over, and the next one has its own deadline', () => {
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

describe('a request is abandoned', () => {
  test('when the client of a stream has left; a whole answer is waited for', () => {
    for (const streamed of [true, false]) {
      const { hold, client } = begin({ streamed });
      expect(hold.isAbandoned).toBe(false);
      client.abort();
      expect(hold.isAbandoned).toBe(streamed);
      expect(hold.begin(TIMEOUTS).aborted).toBe(streamed);
    }
  });

  test('at shutdown: the attempt is aborted, and the client is told why', async () => {
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
  test('is charged once, with everything that the receipt needs, and is no longer active', async () => {
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
    expect(requests).toMatchObject([
      {
        endpoint: 'svc_chat',
        model: 'm',
        ending: { outcome: 'completed', upstream: 'b0', durationMs: 25, firstByteMs: 4 },
        usage: RESULT.measured.usage,
        charged: 5,
      },
    ]);
    expect([...active]).toEqual([]);
    expect(overruns).toEqual([]);
  });

  test('reports any overrun, however small', async () => {
    const { hold, overruns } = begin({ overrun: 1 });
    await hold.settle(RESULT);
    expect(overruns).toEqual([1]);
  });

  test('is charged whatever happens to those who are told of it, and the operator hears of that', async () => {
    const { hold, active } = begin({ overrun: 1, isTellingBroken: true });
    const error = spyOn(stderrLog, 'error').mockImplementation(() => undefined);
    try {
      expect(await hold.settle(RESULT)).toMatchObject({ charged: 5 });
      expect(error.mock.calls.map(([event]) => event)).toEqual(['request_end_not_told']);
    } finally {
      error.mockRestore();
    }
    expect([...active]).toEqual([]);
  });

  test('tells the operator what of its use has no price of its own', async () => {
    const price = { kind: 'tokens', input: 1, cachedInput: 1, output: 1 } as const;
    const quote = { price, route: { model: { costs: new Map() } } } as unknown as RequestResult['quote'];
    const used = (extra: object): RequestResult => ({
      ...RESULT,
      quote,
      measured: { usage: { ...NO_USAGE, output: 3, ...extra }, source: 'upstream' },
    });
    const [plain, audible] = [begin(), begin()];
    await plain.hold.settle(used({}));
    await audible.hold.settle(used({ extra: { audioInput: 4 } }));
    expect([plain.warned, audible.warned]).toEqual([[], [['usage_without_price', ['audio_input']]]]);
  });

  test('is counted once even if its charge follows later, and the charge is added when it does', async () => {
    const { hold, requests, chargedLater, closeLater, active } = begin({ isStoreDown: true });
    expect(await hold.settle(RESULT)).toBeUndefined();
    expect(requests.map(({ charged }) => charged)).toEqual([undefined]);
    expect([...active]).toEqual([]);
    closeLater();
    expect(requests).toHaveLength(1);
    expect(chargedLater.map(({ charged }) => charged)).toEqual([nanoUsd(5)]);
  });

  test('is released when no backend answered, with the last one that was called, and the client gets the fault', async () => {
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
    expect(requests).toMatchObject([
      { ending: { outcome: 'upstream_failed', durationMs: 8 }, usage: undefined },
    ]);
  });

  test('is released as client_left when the client left, and as an internal error when the failure is unknown', async () => {
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

  test('that was settled is not released by a later failure', async () => {
    const { hold, closes } = begin();
    const work = async (): Promise<never> => {
      await hold.settle(RESULT);
      throw new Error('after');
    };
    expect(hold.voidOnFailure(work)).rejects.toThrow('after');
    await hold.voidOnFailure(() => Promise.resolve('done'));
    expect(closes.map(({ kind }) => kind)).toEqual(['settle']);
  });

  test('reports no usage itself: that is up to the meter of a stream', () => {
    expect(begin().hold.delivered()).toEqual(NO_USAGE);
  });
});
