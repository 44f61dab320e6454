import { expect, test } from 'bun:test';
import { BatchQueue } from './batch-queue.ts';

test('the database is never asked for those who were told to come back while they waited', async () => {
  const batches: (readonly number[])[] = [];
  const first = Promise.withResolvers<void>();
  const queue = new BatchQueue<number, { n: number }>({
    // Items are given up after a tenth of the usual time.
    deadlineFactor: 0.1,
    async run(items) {
      batches.push(items);
      if (items.includes(1)) await first.promise;
      return items.map((n) => ({ n }));
    },
  });
  const hanging = queue.submit(1).catch(() => 'given up');
  await new Promise(setImmediate);
  const waiting = [2, 3].map((n) => queue.submit(n).catch(() => 'given up'));
  expect(await Promise.all([hanging, ...waiting])).toEqual(['given up', 'given up', 'given up']);
  first.resolve();
  await new Promise(setImmediate);
  expect(await queue.submit(4)).toEqual({ n: 4 });
  expect(batches).toEqual([[1], [4]]);
});
