import { afterEach, expect, test } from 'bun:test';
import { silentLog } from '../std/log.ts';
import { PeriodicTasks, type PeriodicTask } from './periodic-tasks.ts';

const started: PeriodicTasks[] = [];
afterEach(async () => {
  for (const running of started.splice(0)) await running.stop();
});

function start(...tasks: PeriodicTask[]): void {
  started.push(new PeriodicTasks(tasks, silentLog));
}

/** A task that counts its runs: `runs(n)` resolves when it has run `n` times. */
function counted(run: () => Promise<unknown> = async () => undefined) {
  let count = 0;
  const waiting: { n: number; resolve: () => void }[] = [];
  return {
    count: () => count,
    runs: (n: number) => new Promise<void>((resolve) => void waiting.push({ n, resolve })),
    run: async () => {
      count++;
      for (const { n, resolve } of waiting) if (count >= n) resolve();
      await run();
    },
  };
}

test('a task runs repeatedly, even after it failed', async () => {
  const failing = counted(() => Promise.reject(new Error('expected failure')));
  start({ name: 'failing', everyMs: 1, run: failing.run });
  await failing.runs(3);
});

test('a task that is still running is not started again', async () => {
  const end = Promise.withResolvers<void>();
  const slow = counted(() => end.promise);
  const quick = counted();
  start({ name: 'slow', everyMs: 1, run: slow.run }, { name: 'quick', everyMs: 1, run: quick.run });
  await quick.runs(20);
  expect(slow.count()).toBe(1);
  end.resolve();
  await slow.runs(2);
});

test('a task that has become slow runs less often', async () => {
  const quick = counted();
  let quickRuns = 0;
  // Each takes as long as three runs of the quick task; one may use a thousandth of the time, the other half of it.
  const slow = counted(() => quick.runs(quick.count() + 3));
  const half = counted(async () => {
    quickRuns = quick.count();
    if (half.count() === 1) await quick.runs(quickRuns + 3);
  });
  start(
    { name: 'slow', everyMs: 1, maxTimeShare: 0.001, run: slow.run },
    { name: 'half', everyMs: 1, maxTimeShare: 0.5, run: half.run },
    { name: 'quick', everyMs: 1, run: quick.run },
  );
  await half.runs(2);
  // A late timer may let it run again at once, but never before it has ended.
  expect(quickRuns).toBeGreaterThanOrEqual(3);
  await quick.runs(50);
  expect(slow.count()).toBe(1);
});
