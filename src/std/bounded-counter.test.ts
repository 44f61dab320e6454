import { expect, test } from 'bun:test';
import { BoundedCounter } from './bounded-counter.ts';

test('counts by all of its labels, whatever their values contain', () => {
  const counter = new BoundedCounter(['backend', 'result', 'reason']);
  counter.add('one', 'served', '');
  counter.add('one', 'failed', 'timeout');
  counter.add('one', 'served', '');
  counter.add('one\nserved', '', '');
  expect([...counter.entries()]).toEqual([
    [{ backend: 'one', result: 'served', reason: '' }, 2],
    [{ backend: 'one', result: 'failed', reason: 'timeout' }, 1],
    [{ backend: 'one\nserved', result: '', reason: '' }, 1],
  ]);
});

test('beyond two hundred combinations the rest is counted together, and those that are known go on', () => {
  const counter = new BoundedCounter(['path', 'status']);
  for (let round = 0; round < 2; round++)
    for (let path = 0; path < 250; path++) counter.add(`/${path}`, '200');
  const counts = new Map([...counter.entries()].map(([{ path }, count]) => [path, count]));
  expect(counts.size).toBe(201);
  expect(counts.get('/199')).toBe(2);
  expect(counts.get('other')).toBe(100);
});
