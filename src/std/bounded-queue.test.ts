import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { BoundedQueue } from './bounded-queue.ts';

test('as many as allowed have their turn, as many as allowed wait, the next is refused at once', async () => {
  const queue = new BoundedQueue({ parallel: 2, waiting: 1 });
  const first = await queue.enter();
  await queue.enter();
  const third = queue.enter();
  expect(third).toBeInstanceOf(Promise);
  expect(queue.enter()).toBeUndefined();
  first?.();
  expect(await third).toBeFunction();
  expect(queue.enter()).toBeInstanceOf(Promise);
});

test('an aborted one gives its place away, with the reason it was aborted for', async () => {
  const queue = new BoundedQueue({ parallel: 1, waiting: 1 });
  const leave = await queue.enter();
  const aborted = new AbortController();
  const waits = queue.enter(aborted.signal);
  aborted.abort(new Error('gone'));
  await expect(waits).rejects.toThrow('gone');
  const next = queue.enter();
  leave?.();
  expect(await next).toBeFunction();
});

test('one who was aborted before takes no turn', async () => {
  const queue = new BoundedQueue({ parallel: 1, waiting: 0 });
  expect(() => queue.enter(AbortSignal.abort(new Error('gone')))).toThrow('gone');
  expect(await queue.enter()).toBeFunction();
});

test('an abort in the moment of the turn loses no turn', async () => {
  const queue = new BoundedQueue({ parallel: 1, waiting: 1 });
  const leave = await queue.enter();
  const aborted = new AbortController();
  const called = queue.enter(aborted.signal);
  leave?.();
  aborted.abort(new Error('gone'));
  (await called)?.();
  expect(await queue.enter()).toBeFunction();
});

test('a turn that is given back twice counts once', async () => {
  const queue = new BoundedQueue({ parallel: 1, waiting: 1 });
  const leave = await queue.enter();
  leave?.();
  leave?.();
  expect(queue.enter()).toBeFunction();
  expect(queue.enter()).toBeInstanceOf(Promise);
  expect(queue.enter()).toBeUndefined();
});

test('those who wait can be rejected; the turn that runs goes on', async () => {
  const queue = new BoundedQueue({ parallel: 1, waiting: 2 });
  const leave = await queue.enter();
  const waiting = [queue.enter(), queue.enter()];
  queue.rejectWaiting(new Error('closed'));
  expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = queue.enter();
  leave?.();
  expect(await next).toBeFunction();
});

test('whatever comes and goes, no more than allowed run, and they run in order of arrival', async () => {
  const steps = fc.array(fc.constantFrom('enter', 'leave', 'abort'), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 3 }), steps, run),
  );
});

async function run(parallel: number, waiting: number, steps: readonly string[]): Promise<void> {
  const queue = new BoundedQueue({ parallel, waiting });
  const running: (() => void)[] = [];
  const started: number[] = [];
  let line: { readonly id: number; readonly controller: AbortController }[] = [];
  for (const [id, step] of steps.entries()) {
    if (step === 'leave') running.shift()?.();
    if (step === 'abort') line.pop()?.controller.abort();
    if (step === 'enter') {
      const controller = new AbortController();
      const full = running.length >= parallel && line.length >= waiting;
      const turn = queue.enter(controller.signal);
      expect(turn === undefined).toBe(full);
      if (!turn) continue;
      line.push({ id, controller });
      const begin = async (): Promise<void> => {
        running.push(await turn);
        started.push(id);
        line = line.filter((place) => place.id !== id);
      };
      begin().catch(() => undefined);
    }
    await Bun.sleep(0);
    expect(running.length).toBeLessThanOrEqual(parallel);
    expect(line.length === 0 || running.length === parallel).toBe(true);
    expect(started).toEqual(started.toSorted((a, b) => a - b));
  }
}
