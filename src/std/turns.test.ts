import { expect, test } from 'bun:test';
import { Turns, TurnsByCaller } from './turns.ts';

const SHARE_MS = 4;

/** What each of a crowd costs, in milliseconds of a clock that nothing else moves; who has begun in which turn. */
async function begunIn(count: number, costMs: number, latecomerIn?: number): Promise<number[][]> {
  let nowMs = 0;
  let begun: number[] = [];
  const turns = new Turns({ shareMs: SHARE_MS, now: () => nowMs });
  const work = async (id: number): Promise<void> => {
    begun.push(id);
    // What continues at once when a promise is settled belongs to it.
    for (let step = 0; step < 10; step++) await Promise.resolve();
    nowMs += costMs;
  };
  const come = async (id: number): Promise<void> => {
    const turn = turns.enter();
    if (turn) await turn;
    await work(id);
  };
  const all: number[][] = [];
  for (let id = 0; id < count; id++) {
    void come(id);
    // Each comes by an event of its own: what the one before does at once is done.
    await new Promise<void>((resolve) => queueMicrotask(() => process.nextTick(resolve)));
  }
  for (let turn = 0; all.flat().length < count || turn < 3; turn++) {
    if (turn === latecomerIn) void come(count++);
    all.push(begun);
    begun = [];
    await new Promise((next) => setImmediate(next));
  }
  expect(turns.enter()).toBeUndefined();
  return all.filter((ids) => ids.length > 0);
}

test('of a crowd so many begin in each turn as its share of time allows, in the order in which they came', async () => {
  expect(await begunIn(7, 2)).toEqual([[0, 1], [2, 3], [4, 5], [6]]);
});

test('one goes on in each turn, however long it takes', async () => {
  expect(await begunIn(4, 50)).toEqual([[0], [1], [2], [3]]);
});

test('whoever takes no time keeps nobody waiting', async () => {
  expect(await begunIn(100, 0)).toHaveLength(1);
});

test('whoever comes later waits behind those who came before', async () => {
  expect(await begunIn(5, 4, 1)).toEqual([[0], [1], [2], [3], [4], [5]]);
});

test('what one caller asks for all at once waits for itself, in order, and another caller’s begins at once', async () => {
  const turns = new TurnsByCaller();
  const begun: string[] = [];
  const over = Promise.withResolvers<void>();
  const ask = (caller: string, id: number): Promise<unknown> =>
    turns.run(caller, async () => {
      begun.push(`${caller}${id}`);
      await over.promise;
      if (id % 3 === 0) throw new Error('a failure leaves as well');
    });
  const crowd = Array.from({ length: 1_008 }, (_, id) => ask('a', id));
  expect(ask('a', 1_008)).rejects.toMatchObject({ code: 'rate_limit_exceeded', retryAfterMs: 1_000 });
  const other = ask('b', 1);
  const first = Array.from({ length: 8 }, (_, id) => `a${id}`);
  expect(begun).toEqual([...first, 'b1']);
  over.resolve();
  await Promise.allSettled([...crowd, other]);
  expect(begun.filter((one) => one.startsWith('a'))).toEqual(crowd.map((_, id) => `a${id}`));
});
