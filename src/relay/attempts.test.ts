import { afterEach, beforeEach, describe, expect, spyOn, test, type Mock } from 'bun:test';
import type { Endpoint } from '../catalog/catalog.ts';
import type { AccountId } from '../std/ids.ts';
import { makeLog } from '../std/log.ts';
import {
  UpstreamFailure,
  type AttemptResult,
  type UpstreamTarget,
  type Upstream,
  type UpstreamPool,
} from '../upstream/port.ts';
import { AllAttemptsFailed, firstAnswer, type AttemptDeadline, type AttemptOptions } from './attempts.ts';
import type { Quote, RelayParts } from './call.ts';

/** Which backends are called, in which order and how often, and what is reported to the client and the pool. */

interface Scene {
  readonly places: Endpoint['places'];
  /** The failure of each call, by backend; absent: it answers. */
  readonly answers?: Record<string, (call: number) => UpstreamFailure | Error | undefined>;
  readonly waits?: Record<string, number>;
  /** These have cost as much today as they may. */
  readonly spent?: readonly string[];
  readonly retries?: number;
  /** After this many attempts the client has left. */
  readonly abandonedAfter?: number;
  readonly timesOut?: boolean;
  readonly names?: ReadonlyMap<string, string>;
  readonly hasOtherKeys?: boolean;
  /** The places are sticky, for this account. */
  readonly account?: AccountId;
}

type Target = Omit<UpstreamTarget, 'account'>;

const ACCOUNT = 'acc_1' as AccountId;
const one = (upstream: string, weight = 1) => [{ upstream, weight }];
/** In the backend's own words. */
const own = (status: number) => failing('server', { status, isOwnError: true });
const failing = (kind: UpstreamFailure['kind'], more = {}) => new UpstreamFailure(kind, 'words', more);

async function play(scene: Scene) {
  const called: string[] = [];
  const models: string[] = [];
  const reports: (Target & AttemptResult)[] = [];
  const released: Target[] = [];
  const log: { level: string; event: string }[] = [];
  let nowMs = 1_000;
  let retries = scene.retries ?? 100;
  const pool: UpstreamPool = {
    has: () => true,
    admit({ account, ...target }) {
      expect(account).toBe(scene.account ?? ACCOUNT);
      const waitMs = scene.waits?.[target.upstream] ?? 0;
      if (waitMs > 0) return { kind: 'wait', waitMs };
      return {
        kind: 'permit',
        upstream: { name: target.upstream } as Upstream,
        hasOtherKeys: scene.hasOtherKeys ?? false,
        release: () => void released.push(target),
        report: (result) => void reports.push({ ...target, ...result }),
      };
    },
    mayRetry: () => retries-- > 0,
    timeouts: () => ({ firstByteMs: 1, idleMs: 1, totalMs: 1 }),
  };
  let ended = 0;
  const deadline: AttemptDeadline = {
    begin: () => new AbortController().signal,
    end: () => void ended++,
    timedOut: scene.timesOut === true,
    get isAbandoned() {
      return called.length >= (scene.abandonedAfter ?? Infinity);
    },
  };
  const parts = {
    upstreams: pool,
    clock: { now: () => nowMs },
    dailyCosts: { isSpent: (upstream: string) => scene.spent?.includes(upstream) },
    catalog: () => ({ upstreams: { get: () => ({ dailyCostLimit: 1 }) } }),
    log: makeLog((line) => log.push(JSON.parse(line) as (typeof log)[number])),
  } as unknown as RelayParts;
  const route = {
    endpoint: { places: scene.places, isSticky: scene.account !== undefined },
    model: { id: 'm', sizes: [], costs: new Map(), upstreamModels: scene.names ?? new Map() },
  };
  const quote = { route, ceiling: { kind: 'tokens' } } as unknown as Quote;
  const admission = { accountId: scene.account ?? ACCOUNT, output: 1 };
  const run = firstAnswer({ call: {}, quote, admission, parts }, deadline, {
    callUpstream: (_admitted, { name }: Upstream, { model }: AttemptOptions) => {
      called.push(name);
      models.push(model);
      nowMs += 7;
      const failure = scene.answers?.[name]?.(called.filter((other) => other === name).length);
      return failure ? Promise.reject(failure) : Promise.resolve(`from ${name}`);
    },
  });
  const outcome = await run.catch((thrown: unknown) => thrown as AllAttemptsFailed);
  return { outcome, called, models, reports, released, log, ended: () => ended };
}

function faultIn({ outcome }: Awaited<ReturnType<typeof play>>) {
  if (!(outcome instanceof AllAttemptsFailed)) throw new Error('it was answered');
  return outcome.fault;
}

let pauses: Mock<typeof Bun.sleep>;
beforeEach(() => {
  pauses = spyOn(Bun, 'sleep').mockImplementation(() => Promise.resolve());
});
afterEach(() => pauses.mockRestore());

describe('backends are called', () => {
  test('place by place, until one answers', async () => {
    const played = await play({
      places: [one('a'), one('b'), one('c')],
      answers: { a: () => failing('server') },
    });
    expect(played.called).toEqual(['a', 'b']);
    expect(played.outcome).toMatchObject({
      answer: 'from b',
      upstream: 'b',
      firstByteMs: 14,
      attempts: [
        { upstream: 'a', result: 'failed', reason: 'server', durationMs: 7 },
        { upstream: 'b', result: 'served', durationMs: 7 },
      ],
    });
    expect(played.reports).toEqual([
      { upstream: 'a', model: 'm', kind: 'failed', reason: 'server', cooldownMs: undefined },
      { upstream: 'b', model: 'm', kind: 'ok', firstByteMs: 7 },
    ]);
    expect(played.ended()).toBe(2);
  });

  test('at most four times, however many are listed', async () => {
    const answers = Object.fromEntries([...'abcdef'].map((name) => [name, () => failing('server')]));
    const played = await play({ places: [...'abcdef'].map((name) => one(name)), answers });
    expect(played.called).toEqual(['a', 'b', 'c', 'd']);
    // For the receipt.
    expect((played.outcome as AllAttemptsFailed).attempts).toHaveLength(4);
  });

  test('all of them, if those before rest: skipped ones do not count', async () => {
    const waits = Object.fromEntries([...'abcde'].map((name) => [name, 1_000]));
    const played = await play({ places: [...'abcdef'].map((name) => one(name)), waits });
    expect(played.called).toEqual(['f']);
  });

  test('within a sticky place always the same for an account, and in proportion to the weights among accounts', async () => {
    const places = [[...one('heavy', 3), ...one('light', 1)]];
    let heavy = 0;
    for (let number = 0; number < 1_000; number++) {
      const account = `acc_${number}` as AccountId;
      const first = (await play({ places, account })).called[0];
      expect((await play({ places, account })).called[0]).toBe(first);
      if (first === 'heavy') heavy++;
    }
    expect(heavy).toBeGreaterThan(680);
    expect(heavy).toBeLessThan(820);
  });

  test('one that leaves a sticky place takes only its own accounts with it', async () => {
    const names = [...'abc'];
    for (let number = 0; number < 100; number++) {
      const account = `acc_${number}` as AccountId;
      const all = (await play({ places: [names.flatMap((name) => one(name))], account })).called[0];
      const two = (await play({ places: [[...one('a'), ...one('b')]], account })).called[0];
      if (all !== 'c') expect(two).toBe(all);
    }
  });

  test('within a place in proportion to the weights', async () => {
    const places = [[...one('heavy', 3), ...one('light', 1)]];
    let heavy = 0;
    for (let call = 0; call < 3_000; call++) if ((await play({ places })).called[0] === 'heavy') heavy++;
    expect(heavy).toBeGreaterThan(2_100);
    expect(heavy).toBeLessThan(2_400);
  });

  test.each([
    ['it could not be reached', failing('connect'), ['a', 'b', 'a']],
    ['it says itself that it was too busy', own(503), ['a', 'b', 'a']],
    ['something says that it was too busy', failing('server', { status: 503 }), ['a', 'b']],
    ['its connection was lost on the way', failing('connection_lost'), ['a', 'b']],
    ['it failed', failing('server', { status: 500 }), ['a', 'b']],
    ['it was too slow', failing('timeout'), ['a', 'b']],
    ['nobody knows why', new Error('strange'), ['a', 'b']],
  ])(
    'again, listed again after another, only if it cannot have done the work: %s',
    async (_, failure, called) => {
      const answers = { a: () => failure, b: () => failing('server') };
      const played = await play({ places: [one('a'), one('b'), one('a')], answers });
      expect(played.called).toEqual(called);
    },
  );

  test('with their own name of the model, or else the catalog’s', async () => {
    const names = new Map([['a', 'm-at-a']]);
    const answers = { a: () => failing('server') };
    const played = await play({ places: [one('a'), one('b')], names, answers });
    expect(played.models).toEqual(['m-at-a', 'm']);
  });

  test.each([
    ['no connection', failing('connect'), 2],
    ['its own error 500', own(500), 2],
    ['its own error 502', own(502), 2],
    ['its own error 503', own(503), 2],
    ['its own error 529', own(529), 2],
    ['its own error 501', own(501), 1],
    ['too busy, in the words of another', failing('server', { status: 503 }), 1],
    ['too many requests, for a moment', failing('rate_limited', { status: 429, retryAfterMs: 1 }), 2],
    ['too many requests, for long', failing('rate_limited', { status: 429, retryAfterMs: 2_000 }), 1],
    ['the connection was lost on the way', failing('connection_lost'), 1],
    ['it began and failed', failing('server', { status: 500 }), 1],
    ['no status', failing('server'), 1],
    ['too many requests', failing('rate_limited', { status: 429 }), 1],
  ])('twice, if there is only one, only if it has not done the work: %s', async (_, failure, times) => {
    const played = await play({ places: [one('a')], answers: { a: () => failure } });
    expect(played.called).toHaveLength(times);
  });

  test.each([
    ['over its limit', failing('rate_limited', { status: 429 })],
    ['refused', failing('unauthorized', { status: 401 })],
  ])('twice, if there is only one, for its other keys when the first is %s', async (_, failure) => {
    const answers = { a: (call: number) => (call === 1 ? failure : undefined) };
    const played = await play({ places: [one('a')], answers, hasOtherKeys: true });
    expect(played.called).toEqual(['a', 'a']);
    expect(played.outcome).toMatchObject({ answer: 'from a' });
  });

  test('one after the other whatever the failure was, if there are two', async () => {
    const answers = { a: () => failing('server', { status: 500 }) };
    expect((await play({ places: [one('a'), one('b')], answers })).called).toEqual(['a', 'b']);
  });

  test('no more once the request was rejected or its client has left', async () => {
    const places = [one('a'), one('b')];
    const rejected = await play({ places, answers: { a: () => failing('rejected') } });
    expect(rejected.called).toEqual(['a']);
    const left = await play({ places, answers: { a: () => failing('server') }, abandonedAfter: 1 });
    expect(left.called).toEqual(['a']);
  });

  test('unless their breaker is open: they are recorded as skipped, and the next one is called without a pause', async () => {
    const played = await play({ places: [one('a'), one('b')], waits: { a: 1 } });
    expect(played.outcome).toMatchObject({
      answer: 'from b',
      attempts: [
        { upstream: 'a', result: 'skipped', reason: 'resting', durationMs: 0 },
        { upstream: 'b', result: 'served' },
      ],
    });
    expect(pauses).not.toHaveBeenCalled();
  });

  test('unless they have cost as much as they may today: that too is recorded as skipped', async () => {
    const played = await play({ places: [one('a'), one('b')], spent: ['a'] });
    expect(played.called).toEqual(['b']);
    expect(played.outcome).toMatchObject({
      attempts: [
        { upstream: 'a', result: 'skipped', reason: 'daily_cost_limit', durationMs: 0 },
        { upstream: 'b', result: 'served' },
      ],
    });
  });
});

describe('a further attempt', () => {
  const places = [one('a'), one('b'), one('c')];
  const answers = { a: () => failing('server'), b: () => failing('server') };

  test('waits for a random time between 20 and 100 milliseconds first', async () => {
    for (let call = 0; call < 60; call++) await play({ places, answers });
    const waits = pauses.mock.calls.map(([ms]) => Number(ms));
    expect(waits).toHaveLength(120);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(20);
    expect(Math.min(...waits)).toBeLessThan(50);
    expect(Math.max(...waits)).toBeLessThan(100);
    expect(Math.max(...waits)).toBeGreaterThan(70);
  });

  test('needs the retry budget; without it the permit is returned unused', async () => {
    const played = await play({ places, answers, retries: 1 });
    expect(played.called).toEqual(['a', 'b']);
    expect(played.released).toEqual([{ upstream: 'c', model: 'm' }]);
    expect(faultIn(played).code).toBe('upstream_error');
    // The receipt tells why it was not called.
    expect((played.outcome as AllAttemptsFailed).attempts.at(-1)).toEqual({
      upstream: 'c',
      result: 'skipped',
      reason: 'retry_budget',
      durationMs: 0,
    });
  });
});

describe('a failure is reported to the pool', () => {
  const told = async (failure: Error, more: Partial<Scene> = {}) =>
    (await play({ places: [one('a'), one('b')], answers: { a: () => failure }, ...more })).reports[0];

  test('with its kind and the cooldown that the backend called for', async () => {
    expect(await told(failing('rate_limited', { retryAfterMs: 9_000 }))).toMatchObject({
      kind: 'failed',
      reason: 'rate_limited',
      cooldownMs: 9_000,
    });
  });

  test('as neutral when the client left or the request caused it', async () => {
    expect(await told(failing('server'), { abandonedAfter: 1 })).toMatchObject({ kind: 'neutral' });
    expect(await told(failing('rejected'))).toMatchObject({ kind: 'neutral' });
    expect(await told(failing('server', { blameless: true }))).toMatchObject({ kind: 'neutral' });
  });

  test('as a timeout when the deadline passed, as a lost connection when it is unknown', async () => {
    expect(await told(new Error('aborted'), { timesOut: true })).toMatchObject({ reason: 'timeout' });
    expect(await told(new Error('strange'))).toMatchObject({ kind: 'failed', reason: 'connection_lost' });
  });

  test.each([
    ['unauthorized', 'backend_key_rejected'],
    ['out_of_credit', 'backend_out_of_credit'],
    ['forbidden', 'backend_access_forbidden'],
    ['not_found', 'backend_model_not_found'],
  ] as const)(
    'and the operator of %s, as an error, even where the backend is not blamed',
    async (kind, event) => {
      const { log } = await play({ places: [one('a')], answers: { a: () => failing(kind) } });
      expect(log).toMatchObject([{ level: 'error', event, message: 'words' }]);
    },
  );

  test('and any other is logged as a warning', async () => {
    const { log } = await play({ places: [one('a')], answers: { a: () => new Error('strange') } });
    const warning = { level: 'warn', event: 'backend_attempt_failed', message: 'strange' };
    expect(log).toMatchObject([warning]);
  });
});

describe('when no backend answered, the client is told', () => {
  const told = async (failure: Error) =>
    faultIn(await play({ places: [one('a')], answers: { a: () => failure } }));

  test('to retry after the shortest cooldown, when all breakers are open', async () => {
    const waits = { a: 7_000, b: 3_000, c: 5_000 };
    const played = await play({ places: [one('a'), one('b'), one('c')], waits });
    expect(played.called).toEqual([]);
    expect(faultIn(played)).toMatchObject({ code: 'upstream_error', retryAfterMs: 3_000 });
  });

  test('to retry tomorrow, when all have cost as much as they may today', async () => {
    const played = await play({ places: [one('a'), one('b')], spent: ['a', 'b'] });
    expect(faultIn(played)).toMatchObject({ code: 'upstream_error', retryAfterMs: 86_400_000 - 1_000 });
  });

  test('to retry after two seconds, when there is no backend or it did not say', async () => {
    expect(faultIn(await play({ places: [] }))).toMatchObject({ retryAfterMs: 2_000 });
    expect(await told(failing('server'))).toMatchObject({ code: 'upstream_error', retryAfterMs: 2_000 });
    expect(await told(failing('timeout'))).toMatchObject({ code: 'upstream_timeout', retryAfterMs: 2_000 });
  });

  test('to retry when the backend said', async () => {
    expect(await told(failing('rate_limited', { retryAfterMs: 4_000 }))).toMatchObject({
      code: 'upstream_error',
      retryAfterMs: 4_000,
    });
  });

  test('why its request was rejected, where the backend may be quoted, and no other message', async () => {
    expect(await told(failing('rejected', { publicMessage: 'no such tool' }))).toMatchObject({
      code: 'invalid_field',
      message: 'no such tool',
      retryAfterMs: undefined,
    });
    expect(await told(failing('rejected'))).toMatchObject({
      code: 'invalid_field',
      message: 'The backend rejected the request.',
    });
    expect((await told(failing('server'))).message).not.toContain('words');
  });

  test.each([
    'maximum context length is 8192 tokens',
    'context_length_exceeded',
    'Too many tokens',
    'prompt is too long: 9 > 8',
  ])('that its request is too long: %s', async (publicMessage) => {
    expect(await told(failing('rejected', { publicMessage }))).toMatchObject({
      code: 'context_length_exceeded',
    });
  });
});
