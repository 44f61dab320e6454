import { expect, test } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import { callTogether, plainArray, textArray } from './batch.ts';
import { CallFailed } from './pool.ts';

test('one item that the database refuses fails alone, in few calls', async () => {
  let calls = 0;
  const items = Array.from({ length: 100 }, (_, n) => n);
  const answers = await callTogether(items, (some) => {
    calls++;
    if (some.includes(37)) return Promise.reject(new CallFailed('rolled_back', 'no', { sqlState: '23505' }));
    return Promise.resolve(some.map((n) => ({ n })));
  });
  expect(answers.flatMap((answer) => (answer instanceof Fault ? [] : [answer.n]))).toEqual(
    items.filter((n) => n !== 37),
  );
  expect(answers[37]).toMatchObject({ code: 'internal_error' });
  expect(calls).toBeLessThan(20);
});

test('a failure of the database is everyone’s, and is not tried again', async () => {
  for (const failure of [
    new CallFailed('not_sent', 'away'),
    new CallFailed('rolled_back', 'slow', { sqlState: '57014' }),
  ]) {
    let calls = 0;
    const answers = await callTogether([1, 2, 3], () => {
      calls++;
      return Promise.reject(failure);
    });
    expect(calls).toBe(1);
    for (const answer of answers)
      expect(answer).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
  }
});

test('a fault that is not the database’s is everyone’s as it is', async () => {
  const mistake = new TypeError('a mistake of ours');
  const answers = await callTogether([1, 2], () => Promise.reject(mistake));
  expect(answers).toHaveLength(2);
  for (const answer of answers) expect(answer).toMatchObject({ code: 'internal_error', cause: mistake });
});

test('arrays are written as the database reads them, whatever the texts contain', () => {
  expect(textArray(['a', '', 'NULL', null, undefined, '{x,"y"\\}', 'n\0l'])).toBe(
    '{"a","","NULL",NULL,NULL,"{x,\\"y\\"\\\\}","n\uFFFDl"}',
  );
  expect(plainArray([1, -2, undefined, true, false, null])).toBe('{1,-2,NULL,true,false,NULL}');
});
