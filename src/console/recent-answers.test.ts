import { expect, test } from 'bun:test';
import { RecentAnswers } from './recent-answers.ts';

const SECOND = 1_000;

test('an answer of a moment ago is given at once while one new answer is computed, and an old one never', async () => {
  const answers = new RecentAnswers();
  const computed: PromiseWithResolvers<string>[] = [];
  const ask = (now: number): Promise<string> =>
    answers.get('sums', now, () => {
      const one = Promise.withResolvers<string>();
      computed.push(one);
      return one.promise;
    });
  const first = ask(0);
  computed[0]?.resolve('first');
  expect(await first).toBe('first');
  expect(await ask(2 * SECOND)).toBe('first');
  expect(computed).toHaveLength(1);
  expect(await ask(10 * SECOND)).toBe('first');
  expect(await ask(11 * SECOND)).toBe('first');
  await new Promise(setImmediate);
  expect(computed).toHaveLength(2);
  computed[1]?.resolve('second');
  await computed[1]?.promise;
  await new Promise(setImmediate);
  expect(await ask(12 * SECOND)).toBe('second');
  const late = ask(200 * SECOND);
  computed[2]?.resolve('third');
  expect(await late).toBe('third');
});

test('what failed is computed again', async () => {
  const answers = new RecentAnswers();
  expect(answers.get('sums', 0, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  await Promise.resolve();
  expect(await answers.get('sums', 1, () => Promise.resolve('up'))).toBe('up');
});

test('new answers for which nobody waits are computed one after the other, and a failure holds up none', async () => {
  const answers = new RecentAnswers();
  const keys = ['a', 'b', 'c'];
  for (const key of keys) await answers.get(key, 0, () => Promise.resolve(0));
  const running: PromiseWithResolvers<number>[] = [];
  for (const key of keys) {
    await answers.get(key, 10 * SECOND, () => {
      const one = Promise.withResolvers<number>();
      running.push(one);
      return one.promise;
    });
  }
  for (let place = 0; place < keys.length; place++) {
    await new Promise(setImmediate);
    expect(running).toHaveLength(place + 1);
    if (place === 1) running[place]?.reject(new Error('down'));
    else running[place]?.resolve(1);
  }
  await new Promise(setImmediate);
  const now = await Promise.all(keys.map((key) => answers.get(key, 11 * SECOND, () => Promise.resolve(2))));
  expect(now).toEqual([1, 0, 1]);
  expect(await answers.get('d', 11 * SECOND, () => Promise.resolve(3))).toBe(3);
});
