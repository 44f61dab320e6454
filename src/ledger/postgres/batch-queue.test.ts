import { describe, expect, test } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import { BatchQueue, unavailable } from './batch-queue.ts';

/** A lane whose batches the test answers when it likes. */
function laneInHand(onLate?: (item: number, answer: { n: number } | Fault) => void) {
  const batches: {
    items: readonly number[];
    answer: (answers: readonly ({ n: number } | Fault)[]) => void;
  }[] = [];
  const queue = new BatchQueue<number, { n: number }>({
    run: (items) => new Promise((answer) => batches.push({ items, answer })),
    ...(onLate ? { onLate } : {}),
  });
  const batch = async (index: number) => {
    for (;;) {
      const found = batches[index];
      if (found) return found;
      await Bun.sleep(1);
    }
  };
  return { queue, batch };
}

const echo = (items: readonly number[]) => items.map((n) => ({ n }));

describe('a lane', () => {
  test('sends together what arrives together, and what arrives while a batch is away as the next one', async () => {
    const { queue, batch } = laneInHand();
    const first = [1, 2, 3].map((n) => queue.submit(n));
    const one = await batch(0);
    const second = [4, 5].map((n) => queue.submit(n));
    expect(one.items).toEqual([1, 2, 3]);
    one.answer(echo(one.items));
    expect(await Promise.all(first)).toEqual(echo([1, 2, 3]));
    const two = await batch(1);
    expect(two.items).toEqual([4, 5]);
    two.answer([{ n: 4 }, unavailable('only this one')]);
    expect(await Promise.allSettled(second)).toMatchObject([
      { status: 'fulfilled', value: { n: 4 } },
      { status: 'rejected', reason: { code: 'service_unavailable' } },
    ]);
  });

  test('gives an item up in time, and reports an answer that comes after that', async () => {
    const late: unknown[] = [];
    const { queue, batch } = laneInHand((item, answer) => late.push([item, answer]));
    const abandoned = queue.submit(1);
    const one = await batch(0);
    expect(abandoned).rejects.toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
    await abandoned.catch(() => undefined);
    const next = queue.submit(2);
    one.answer(echo(one.items));
    const two = await batch(1);
    expect(late).toEqual([[1, { n: 1 }]]);
    two.answer(echo(two.items));
    expect(await next).toEqual({ n: 2 });
  });

  test('fails everyone of a batch whose run fails, and goes on', async () => {
    let broken = true;
    const queue = new BatchQueue<number, { n: number }>({
      run: (items) => (broken ? Promise.reject(new Error('no')) : Promise.resolve(echo(items))),
    });
    expect(queue.submit(1)).rejects.toBeInstanceOf(Fault);
    await queue.submit(1).catch(() => undefined);
    broken = false;
    expect(await queue.submit(2)).toEqual({ n: 2 });
  });

  test('takes no more than it can keep', async () => {
    const { queue, batch } = laneInHand();
    const waiting = Array.from({ length: 10_000 }, (_, n) => queue.submit(n));
    expect(queue.submit(0)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect((await batch(0)).items).toHaveLength(500);
    expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(true);
  });

  test('asks less at a time of a database that takes long, and more again when it is quick', async () => {
    const { queue, batch } = laneInHand();
    const answers = Array.from({ length: 1_750 }, (_, n) => queue.submit(n));
    const sizes: number[] = [];
    for (let round = 0; sizes.reduce((sum, size) => sum + size, 0) < 1_750; round++) {
      const { items, answer } = await batch(round);
      sizes.push(items.length);
      if (round === 0) await Bun.sleep(300);
      answer(echo(items));
    }
    expect(sizes.slice(0, 2)).toEqual([500, 250]);
    expect(Math.max(...sizes.slice(2))).toBeGreaterThan(250);
    expect(await Promise.all(answers)).toHaveLength(1_750);
  });
});
