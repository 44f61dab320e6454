import { afterEach, expect, test } from 'bun:test';
import { silentLog } from '../std/log.ts';
import { PeriodicTasks, type PeriodicTask } from './periodic-tasks.ts';

const sweepers: PeriodicTasks[] = [];
afterEach(async () => {
  for (const tasks of sweepers.splice(0)) await tasks.stop();
});

function start(...chores: PeriodicTask[]): void {
  sweepers.push(new PeriodicTasks(chores, silentLog));
}

/** A chore that others can wait for: `turns(n)` resolves when it has been run so often. */
function counted(run: () => Promise<unknown> = async () => undefined) {
  let count = 0;
  const waiting: { n: number; resolve: () => void }[] = [];
  return {
    count: () => count,
    turns: (n: number) => new Promise<void>((resolve) => void waiting.push({ n, resolve })),
    run: async () => {
      count++;
      for (const { n, resolve } of waiting) if (count >= n) resolve();
      await run();
    },
  };
}

test('a chore is run again and again, also after it failed', async () => {
  const failing = counted(() => Promise.reject(new Error('no luck')));
  start({ name: 'failing', everyMs: 1, run: failing.run });
  await failing.turns(3);
});

test('a chore that is still running is not started again', async () => {
  const end = Promise.withResolvers<void>();
  const slow = counted(() => end.promise);
  const quick = counted();
  start({ name: 'slow', everyMs: 1, run: slow.run }, { name: 'quick', everyMs: 1, run: quick.run });
  await quick.turns(20);
  expect(slow.count()).toBe(1);
  end.resolve();
  await slow.turns(2);
});

test('a chore that has become slow gets its turn less often', async () => {
  const quick = counted();
  let rested = 0;
  // It takes three turns of the other one, and may take a thousandth of the time, or half of it.
  const slow = counted(() => quick.turns(quick.count() + 3));
  const half = counted(async () => {
    rested = quick.count();
    if (half.count() === 1) await quick.turns(rested + 3);
  });
  start(
    { name: 'slow', everyMs: 1, mostOfTime: 0.001, run: slow.run },
    { name: 'half', everyMs: 1, mostOfTime: 0.5, run: half.run },
    { name: 'quick', everyMs: 1, run: quick.run },
  );
  await half.turns(2);
  expect(rested).toBeGreaterThan(3);
  await quick.turns(50);
  expect(slow.count()).toBe(1);
});
