import { afterEach, beforeEach, expect, spyOn, test, type Mock } from 'bun:test';
import { BatchQueue } from './batch-queue.ts';

/** How many items travel together, by how long the database took over the last ones. The test owns the clock. */

let clock: Mock<typeof performance.now>;
let nowMs = 0;
beforeEach(() => {
  clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => clock.mockRestore());

const QUICK_MS = 250;
const SLOW_MS = 251;

/** The sizes of the batches in which `items` are answered, each after the next of these times. */
async function sizesOf(items: number, times: readonly number[]): Promise<number[]> {
  const sizes: number[] = [];
  const queue = new BatchQueue<number, { n: number }>({
    run: (some) => {
      nowMs += times[sizes.length] ?? QUICK_MS;
      sizes.push(some.length);
      return Promise.resolve(some.map((n) => ({ n })));
    },
    deadlineFactor: 1_000,
  });
  const answers = await Promise.all(Array.from({ length: items }, (_, n) => queue.submit(n)));
  expect(answers.map(({ n }) => n)).toEqual(Array.from({ length: items }, (_, n) => n));
  return sizes;
}

test('five hundred at most, however quick the database is', async () => {
  expect(await sizesOf(2_250, [])).toEqual([500, 500, 500, 500, 250]);
});

test('half as many after each time that it was slow, but sixteen at least', async () => {
  const slow = Array.from({ length: 8 }, () => SLOW_MS);
  expect(await sizesOf(1_100, slow)).toEqual([500, 250, 125, 62, 31, 16, 16, 16, 16, 32, 36]);
});

test('twice as many after each full batch over which it was quick again', async () => {
  const times = [SLOW_MS, SLOW_MS, QUICK_MS];
  expect(await sizesOf(2_000, times)).toEqual([500, 250, 125, 250, 500, 375]);
});

test('a batch that was not full says nothing about how many could travel', async () => {
  const sizes: number[] = [];
  const queue = new BatchQueue<number, { n: number }>({
    run: (some) => {
      nowMs += sizes.length === 0 ? SLOW_MS : QUICK_MS;
      sizes.push(some.length);
      return Promise.resolve(some.map((n) => ({ n })));
    },
    deadlineFactor: 1_000,
  });
  const submit = (items: number) => Promise.all(Array.from({ length: items }, (_, n) => queue.submit(n)));
  await submit(100);
  await submit(10);
  await submit(60);
  expect(sizes).toEqual([100, 10, 50, 10]);
});
