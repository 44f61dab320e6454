import { getEventListeners } from 'node:events';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as p50k } from 'gpt-tokenizer/encoding/p50k_base';
import { countTokens as r50k } from 'gpt-tokenizer/encoding/r50k_base';
import { makeLog } from '../std/log.ts';
import { cutTolerance, TOKEN_ENCODINGS, type CountJob } from './port.ts';
import { slicesOf } from './slices.ts';
import { WorkerTokenCounter, type CounterLimits } from './worker-counter.ts';
import { vocabularyTokens } from './testing/in-process-counter.ts';

const counters: WorkerTokenCounter[] = [];
let log: string[] = [];

afterEach(() => {
  for (const counter of counters.splice(0)) counter.close();
  log = [];
});
afterAll(() => shared.close());

const LIMITS: CounterLimits = { waiting: 100, waitingEach: 100, loadMs: 60_000, hangMs: 30_000 };
/** For all tests but those that close, fill or break theirs: a thread loads its vocabulary for a second. */
const shared = new WorkerTokenCounter(
  makeLog((line) => log.push(line)),
  LIMITS,
);

function counterWith(limits?: Partial<CounterLimits>): WorkerTokenCounter {
  const counter = new WorkerTokenCounter(
    makeLog((line) => log.push(line)),
    { ...LIMITS, ...limits },
  );
  counters.push(counter);
  return counter;
}

const job = (texts: readonly string[], more: Partial<CountJob> = {}): CountJob => ({
  encoding: 'o200k_base',
  texts,
  account: 'a',
  limitMs: 30_000,
  loadMs: 60_000,
  ...more,
});

const PROSE =
  'It was the best of times, it was the worst of times; «es war die beste Zeit». 今天天气很好，我们去公园。\n';

describe('the count of a text', () => {
  test('is that of the encoding itself, however long the text', async () => {
    const long = PROSE.repeat(1_000);
    expect(await shared.count(job([long, PROSE, '']))).toEqual({
      tokens: vocabularyTokens(long) + vocabularyTokens(PROSE),
      cuts: 0,
    });
    expect(await shared.count(job([long], { encoding: 'cl100k_base' }))).toEqual({
      tokens: cl100k(long),
      cuts: 0,
    });
  });

  test('tells how often it was cut: within a slice, between slices, and both added up', async () => {
    expect(await shared.count(job(['x'.repeat(600)]))).toMatchObject({ cuts: 2 });
    // Two slices of 16,384 letters, each in 64 pieces.
    expect(await shared.count(job(['x'.repeat(2 * 16_384)]))).toMatchObject({ cuts: 63 + 1 + 63 });
  });

  test('takes the names of control tokens, and halves of characters, for text', async () => {
    expect(await shared.count(job(['<|endoftext|>', '\ud83d']))).toMatchObject({ cuts: 0 });
  });

  test('is made on a thread that starts with the first job, and again after it was closed never', async () => {
    const counter = counterWith();
    expect(counter.isStarted).toBe(false);
    await counter.count(job(['x']));
    expect(counter.isStarted).toBe(true);
    counter.close();
    expect(counter.isStarted).toBe(false);
    expect(await counter.count(job(['x']))).toBeUndefined();
  });

  test.if(process.platform === 'linux')(
    'is made on a thread that yields to the one that serves requests, where processors are few',
    async () => {
      await shared.count(job(['x']));
      const others = readdirSync('/proc/self/task').map(Number);
      expect(Math.max(...others.map(priorityOf))).toBeGreaterThan(getPriority(process.pid));
    },
  );
});

/** As `nice` counts. A thread may end between the listing and the look. */
function priorityOf(thread: number): number {
  try {
    return getPriority(thread);
  } catch {
    return -20;
  }
}

describe('a counter that has much to do', () => {
  test('lets the accounts take turns: a short text does not wait for the end of another account’s long one', async () => {
    const order: string[] = [];
    const long = [1, 2, 3].map((n) =>
      shared.count(job([PROSE.repeat(700)])).then(() => order.push(`long ${n}`)),
    );
    const short = shared.count(job([PROSE], { account: 'b' })).then(() => order.push('short'));
    await Promise.all([...long, short]);
    expect(order[0]).toBe('short');
  });

  test('gives up a job that is not done in time, and goes on with the next one', async () => {
    await shared.count(job(['x']));
    const late = shared.count(job([PROSE.repeat(100_000)], { limitMs: 1 }));
    const next = shared.count(job([PROSE], { account: 'b' }));
    expect(await late).toBeUndefined();
    expect(await next).toEqual({ tokens: vocabularyTokens(PROSE), cuts: 0 });
  });

  test('ends a job that nobody needs any more, waiting or running, and goes on with the next one', async () => {
    await shared.count(job(['x']));
    const left = new AbortController();
    const { signal } = left;
    const [running, waiting] = [1, 2].map(() => shared.count(job([PROSE.repeat(100_000)], { signal })));
    const next = shared.count(job([PROSE]));
    left.abort();
    expect(shared.size).toBe(1);
    expect(await running).toBeUndefined();
    expect(await waiting).toBeUndefined();
    expect(await next).toEqual({ tokens: vocabularyTokens(PROSE), cuts: 0 });
    expect(await shared.count(job(['x'], { signal }))).toBeUndefined();
  });

  test('keeps nothing of a job that is done: no listener, and no timer that keeps the process alive', async () => {
    const { signal } = new AbortController();
    await shared.count(job(['x'], { signal }));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    const hour = 3_600_000;
    const script = `
      const { WorkerTokenCounter } = await import(${JSON.stringify(import.meta.resolve('./worker-counter.ts'))});
      const limits = { waiting: 1, waitingEach: 1, loadMs: ${hour}, hangMs: ${hour} };
      const counter = new WorkerTokenCounter({ error() {} }, limits);
      const job = { encoding: 'r50k_base', texts: ['x'], account: 'a', limitMs: ${hour}, loadMs: ${hour} };
      console.log((await counter.count(job)).tokens);`;
    const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', timeout: 30_000 });
    expect(await new Response(child.stdout).text()).toBe('1\n');
    expect(await child.exited).toBe(0);
  }, 60_000);

  test('refuses a job when too many wait', async () => {
    const counter = counterWith({ waiting: 2 });
    const [first, second, third] = [1, 2, 3].map(() => counter.count(job([PROSE])));
    expect(await third).toBeUndefined();
    expect(await first).toEqual(await second);
    expect(await counter.count(job([PROSE]))).toBeDefined();
  });

  test('refuses a job when too many of its account wait, and none of another account', async () => {
    const counter = counterWith({ waitingEach: 2 });
    const [first, second, third] = [1, 2, 3].map(() => counter.count(job([PROSE])));
    const others = [1, 2].map(() => counter.count(job([PROSE], { account: 'b' })));
    expect(await third).toBeUndefined();
    for (const counted of [first, second, ...others]) expect(await counted).toBeDefined();
    expect(await counter.count(job([PROSE]))).toBeDefined();
  });

  test('shares the work between accounts, not the turns: quick slices do not wait for as many slow ones', async () => {
    await shared.count(job(['x']));
    const order: string[] = [];
    // More slices than the slow text has, so that it would be done first if they took turns, but much less work.
    const quick = 'the quick brown fox jumps over the lazy dog '.repeat(12_000);
    const slow = String.fromCodePoint(
      ...Array.from({ length: 50_000 }, (_, n) => 0x4e00 + ((n * 7_919) % 20_000)),
    );
    expect([...slicesOf([quick])].length).toBeGreaterThan([...slicesOf([slow])].length);
    await Promise.all([
      shared.count(job([slow])).then(() => order.push('slow')),
      shared.count(job([quick], { account: 'b' })).then(() => order.push('quick')),
    ]);
    expect(order).toEqual(['quick', 'slow']);
  });
});

test('a thread that hangs is replaced, and its job is done by the next one', async () => {
  const counter = counterWith({ hangMs: 1 });
  await counter.count(job(['x']));
  // Slow to count, so that the thread is stopped in the middle; the new one gets time to load.
  const slow = 'qwzxkjvb'.repeat(2_000);
  const counted = await counter.count(job([slow]));
  expect(counted?.tokens).toBeGreaterThan(1_000);
  expect(log.join('')).toContain('token_counter_failed');
});

test('a job on which threads fail is tried once more, then given up; the next one is counted by a new thread', async () => {
  const counter = counterWith();
  const broken = counter.count(job(['x'], { encoding: 'none' as 'o200k_base' }));
  const next = counter.count(job([PROSE], { account: 'b' }));
  expect(await broken).toBeUndefined();
  expect(await next).toEqual({ tokens: vocabularyTokens(PROSE), cuts: 0 });
  expect(log.filter((line) => line.includes('token_counter_failed'))).toHaveLength(2);
  expect(counter.size).toBe(0);
});

test.each([
  ['cl100k_base', cl100k],
  ['p50k_base', p50k],
  ['r50k_base', r50k],
] as const)('%s is an encoding that a model may declare, and is counted by', async (encoding, count) => {
  expect(TOKEN_ENCODINGS).toContain(encoding);
  expect(await shared.count(job([PROSE], { encoding }))).toEqual({ tokens: count(PROSE), cuts: 0 });
});

test('a count may be off by four tokens on each side of its cuts', () => {
  expect([0, 1, 2, 3].map(cutTolerance)).toEqual([0, 8, 12, 16]);
});
