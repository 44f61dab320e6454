import { expect, test } from 'bun:test';
import type { Store } from '../store/store.ts';
import { RecentAnswers, recentOf } from './recent-answers.ts';

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

test('an answer that fails late leaves the newer one', async () => {
  const answers = new RecentAnswers();
  const slow = Promise.withResolvers<string>();
  const first = answers.get('sums', 0, () => slow.promise);
  expect(await answers.get('sums', 61 * SECOND, () => Promise.resolve('newer'))).toBe('newer');
  slow.reject(new Error('too slow'));
  await expect(first).rejects.toThrow('too slow');
  await new Promise(setImmediate);
  expect(await answers.get('sums', 62 * SECOND, () => Promise.resolve('again'))).toBe('newer');
});

test('an answer that was asked for earlier and comes later does not replace a newer one', async () => {
  const answers = new RecentAnswers();
  await answers.get('sums', 0, () => Promise.resolve('first'));
  const slow = Promise.withResolvers<string>();
  expect(await answers.get('sums', 10 * SECOND, () => slow.promise)).toBe('first');
  expect(await answers.get('sums', 61 * SECOND, () => Promise.resolve('newest'))).toBe('newest');
  slow.resolve('second');
  await new Promise(setImmediate);
  expect(await answers.get('sums', 62 * SECOND, () => Promise.resolve('again'))).toBe('newest');
});

test('no account takes the place of the operator or of another account, however much it asks for', async () => {
  // Only its identity counts.
  const store = {} as Store;
  const computed: string[] = [];
  const ask = (key: string, accountId?: string): Promise<string> =>
    recentOf(store, accountId).get(key, 0, () => {
      computed.push(`${accountId} ${key}`);
      return Promise.resolve(key);
    });
  await ask('overview');
  await ask('lists', 'quiet');
  for (let place = 0; place < 1_000; place++) await ask(`lists ${place}`, 'greedy');
  expect(computed).toHaveLength(1_002);
  await ask('overview');
  await ask('lists', 'quiet');
  expect(computed).toHaveLength(1_002);
  for (let place = 0; place < 1_000; place++) await ask('lists', `account ${place}`);
  await ask('overview');
  expect(computed).toHaveLength(2_002);
  // What an account asked for first has made room, and so have the accounts that asked longest ago.
  await ask('lists 0', 'greedy');
  await ask('lists', 'account 0');
  await ask('lists', 'account 999');
  expect(computed.slice(2_002)).toEqual(['greedy lists 0', 'account 0 lists']);
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
