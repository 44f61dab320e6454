import { expect, test } from 'bun:test';
import { silentLog } from '../std/log.ts';
import { DailyCosts, untilTomorrowMs } from './daily-costs.ts';

const NOON = Date.UTC(2026, 0, 15, 12);
const TOMORROW = Date.UTC(2026, 0, 16);

test('an upstream is spent once the books of all nodes and what this one has booked since reach its limit', async () => {
  let booked = new Map([['a', 60]]);
  const costs = new DailyCosts(() => Promise.resolve(booked), silentLog);
  await costs.refresh(NOON);
  expect(costs.isSpent('a', 100, NOON)).toBe(false);
  costs.add('a', 39, NOON);
  expect(costs.isSpent('a', 100, NOON)).toBe(false);
  costs.add('a', 1, NOON);
  expect(costs.isSpent('a', 100, NOON)).toBe(true);
  expect(costs.isSpent('b', 100, NOON)).toBe(false);
  // What was added is in the books by now, and counts once.
  booked = new Map([['a', 99]]);
  await costs.refresh(NOON);
  expect(costs.isSpent('a', 100, NOON)).toBe(false);
});

test('tomorrow it is as new, and says how long that is', () => {
  const costs = new DailyCosts(() => Promise.resolve(new Map()), silentLog);
  costs.add('a', 100, NOON);
  expect(costs.isSpent('a', 100, TOMORROW - 1)).toBe(true);
  expect(costs.isSpent('a', 100, TOMORROW)).toBe(false);
  expect(untilTomorrowMs(NOON)).toBe(TOMORROW - NOON);
});

test('books that cannot be read forget nothing', async () => {
  const costs = new DailyCosts(() => Promise.reject(new Error('no store')), silentLog);
  costs.add('a', 100, NOON);
  await expect(costs.refresh(NOON)).rejects.toThrow('no store');
  expect(costs.isSpent('a', 100, NOON)).toBe(true);
});

test('of books that could not be read, what was added before and what was added meanwhile count once', async () => {
  const books = Promise.withResolvers<ReadonlyMap<string, number>>();
  const costs = new DailyCosts(() => books.promise, silentLog);
  costs.add('a', 60, NOON);
  costs.add('b', 50, NOON);
  const refreshed = costs.refresh(NOON);
  costs.add('a', 40, NOON);
  books.reject(new Error('no store'));
  await expect(refreshed).rejects.toThrow('no store');
  expect([costs.isSpent('a', 100, NOON), costs.isSpent('a', 101, NOON)]).toEqual([true, false]);
  expect([costs.isSpent('b', 50, NOON), costs.isSpent('b', 51, NOON)]).toEqual([true, false]);
});

test('while the books are being read, what was added before still counts', async () => {
  const books = Promise.withResolvers<ReadonlyMap<string, number>>();
  const costs = new DailyCosts(() => books.promise, silentLog);
  costs.add('a', 100, NOON);
  const refreshed = costs.refresh(NOON);
  expect(costs.isSpent('a', 100, NOON)).toBe(true);
  books.resolve(new Map([['a', 100]]));
  await refreshed;
  expect(costs.isSpent('a', 100, NOON)).toBe(true);
  expect(costs.isSpent('a', 101, NOON)).toBe(false);
});
