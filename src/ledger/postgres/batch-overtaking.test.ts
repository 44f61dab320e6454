import { afterEach, beforeEach, describe, expect, spyOn, test, type Mock } from 'bun:test';
import { BatchQueue } from './batch-queue.ts';

/** Which batches go while others are away. The test owns the clock and the timers, and is the database. */

const OVERTAKE_MS = 20;
/** As many items of one key as make others wait. */
const MANY = ['a', 'a', 'a', 'a', 'a'];
const LARGE = MANY.join(' ');
const DEADLINE_MS = 900;
let nowMs: number;
let clock: Mock<typeof performance.now>;
let timers: Mock<typeof setTimeout>;
let cleared: Mock<typeof clearTimeout>;
let waiting: { readonly at: number; readonly run: () => void }[];

beforeEach(() => {
  nowMs = 1_000;
  waiting = [];
  clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
  timers = spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    const timer = { at: nowMs + ms, run };
    waiting.push(timer);
    return timer;
  }) as never);
  cleared = spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    waiting = waiting.filter((one) => one !== (timer as unknown));
  });
});
afterEach(() => {
  cleared.mockRestore();
  timers.mockRestore();
  clock.mockRestore();
});

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
};

/** Lets time pass, with every timer that is due. */
async function pass(ms: number): Promise<void> {
  const until = nowMs + ms;
  for (;;) {
    const next = waiting.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
    if (!next) break;
    waiting = waiting.filter((timer) => timer !== next);
    nowMs = Math.max(nowMs, next.at);
    next.run();
    await turns();
  }
  nowMs = until;
  await turns();
}

/** Items are texts; the first letter of each is its key. */
function begin(mostRunning?: number) {
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const queue = new BatchQueue<string, { item: string }>({
    run: (items) =>
      new Promise((resolve) => {
        sent.push(items.join(' '));
        answers.push(() => resolve(items.map((item) => ({ item }))));
      }),
    ...(mostRunning !== undefined && { mostRunning }),
    keyOf: (item: string) => item.charAt(0),
  });
  const answered: string[] = [];
  const submit = (...items: string[]): void => {
    for (const item of items)
      queue.submit(item).then(
        (answer) => answered.push(answer.item),
        () => answered.push(`${item} given up`),
      );
  };
  const answer = async (batch: number): Promise<void> => {
    answers[batch]?.();
    await turns();
  };
  return { submit, sent, answered, answer };
}

describe('a large batch that stays away', () => {
  test('is overtaken by other keys, not before its time', async () => {
    const { submit, sent, answered, answer } = begin(2);
    submit(...MANY);
    await turns();
    submit('b1', 'a2', 'c1');
    await pass(OVERTAKE_MS - 1);
    expect(sent).toEqual([LARGE]);
    await pass(1);
    expect(sent).toEqual([LARGE, 'b1 c1']);
    await answer(1);
    expect(answered).toEqual(['b1', 'c1']);
    await answer(0);
    expect(sent).toEqual([LARGE, 'b1 c1', 'a2']);
  });

  test('is overtaken by as many as may be on their way; what comes meanwhile waits for those', async () => {
    const { submit, sent, answer } = begin(2);
    submit(...MANY);
    await turns();
    submit('b1');
    await pass(OVERTAKE_MS);
    submit('c1', 'b2');
    await pass(5 * OVERTAKE_MS);
    expect(sent).toEqual([LARGE, 'b1']);
    await answer(1);
    expect(sent).toEqual([LARGE, 'b1', 'c1 b2']);
  });

  test('is given up in its time, although the one that overtook it was answered', async () => {
    const { submit, answered, answer } = begin(2);
    submit('a1');
    await turns();
    submit('b1');
    await turns();
    await answer(1);
    expect(answered).toEqual(['b1']);
    await pass(DEADLINE_MS);
    expect(answered).toEqual(['b1', 'a1 given up']);
  });

  test('is looked at again and again: what comes later may overtake it too', async () => {
    const { submit, sent } = begin(2);
    submit(...MANY);
    await pass(3 * OVERTAKE_MS);
    submit('a2');
    await pass(OVERTAKE_MS);
    expect(sent).toEqual([LARGE]);
    submit('b1');
    await pass(OVERTAKE_MS);
    expect(sent).toEqual([LARGE, 'b1']);
  });

  test('is looked at by one timer, however many batches are away', async () => {
    const { submit, sent } = begin(2);
    submit(...MANY);
    await turns();
    submit('b1');
    await pass(OVERTAKE_MS);
    expect(sent).toEqual([LARGE, 'b1']);
    expect(waiting.filter(({ at }) => at <= nowMs + OVERTAKE_MS)).toHaveLength(1);
  });

  test('is not overtaken where one may be on its way', async () => {
    const { submit, sent, answer } = begin();
    submit('a1');
    await turns();
    submit('b1');
    await pass(10 * OVERTAKE_MS);
    expect(sent).toEqual(['a1']);
    await answer(0);
    expect(sent).toEqual(['a1', 'b1']);
  });
});

test('beside few items others go at once, of other keys, until as many batches are away as may be', async () => {
  const { submit, sent, answer } = begin(3);
  submit('a1', 'a2', 'a3', 'a4');
  await turns();
  submit('a5', 'b1');
  await turns();
  expect(sent).toEqual(['a1 a2 a3 a4', 'b1']);
  submit('c1');
  await turns();
  submit('d1');
  await turns();
  expect(sent).toEqual(['a1 a2 a3 a4', 'b1', 'c1']);
  await answer(1);
  expect(sent).toEqual(['a1 a2 a3 a4', 'b1', 'c1', 'd1']);
  await answer(0);
  expect(sent.at(-1)).toBe('a5');
});

test('beside many items others wait, also where those are the second batch', async () => {
  const { submit, sent, answer } = begin(3);
  submit('b1');
  await turns();
  submit(...MANY);
  await turns();
  submit('c1');
  await turns();
  expect(sent).toEqual(['b1', LARGE]);
  await answer(1);
  expect(sent).toEqual(['b1', LARGE, 'c1']);
});

test('when nothing is away and nothing waits, no timer is left', async () => {
  const { submit, sent, answer } = begin();
  submit('a1');
  await turns();
  await answer(0);
  // The one that looks whether the batch is still away ends by itself.
  await pass(OVERTAKE_MS);
  expect(waiting).toEqual([]);
  submit('a2');
  await turns();
  expect(sent).toEqual(['a1', 'a2']);
});

test('those who were told to come back hold up nobody behind them, however many they were', async () => {
  const { submit, sent, answered, answer } = begin();
  submit('a0');
  await turns();
  submit(...Array.from({ length: 500 }, () => 'a1'));
  await pass(DEADLINE_MS - 1);
  submit('a2');
  await pass(1);
  expect(answered).toHaveLength(501);
  expect(answered.every((one) => one.endsWith('given up'))).toBe(true);
  await answer(0);
  expect(sent).toEqual(['a0', 'a2']);
  await answer(1);
  expect(answered.at(-1)).toBe('a2');
});

test('each is given up when its own time is over, not with the first', async () => {
  const { submit, answered } = begin();
  submit('a1');
  await pass(100);
  submit('a2');
  await pass(DEADLINE_MS - 101);
  expect(answered).toEqual([]);
  await pass(1);
  expect(answered).toEqual(['a1 given up']);
  await pass(99);
  expect(answered).toEqual(['a1 given up']);
  await pass(1);
  expect(answered).toEqual(['a1 given up', 'a2 given up']);
});
