import { expect, test } from 'bun:test';
import { RequestSlots, ShedFault, slotsWithin } from './request-slots.ts';

function slots(max: number): RequestSlots {
  return new RequestSlots({ max, eventLoop: { isOverloaded: false }, onShed: () => undefined });
}

test('a slot is free again after the answer, and after its end where the answer is a stream', () => {
  const taken = slots(4);
  taken.enter('a');
  taken.enter('a');
  expect(() => taken.enter('a')).toThrow(ShedFault);
  taken.answered('req_1', 'a', false);
  taken.answered('req_2', 'a', true);
  expect(taken.size).toBe(1);
  taken.enter('a');
  expect(() => taken.enter('a')).toThrow(ShedFault);
  for (let times = 0; times < 2; times++) taken.ended('req_2');
  expect(taken.size).toBe(1);
  taken.enter('a');
  expect(taken.size).toBe(2);
});

test('the callers of a team have one share together, from the first admission that tells whose they are', () => {
  const taken = slots(8);
  for (const caller of ['app 1', 'app 2']) {
    taken.enter(caller);
    taken.enter(caller);
    taken.share(caller, 'team');
  }
  for (const caller of ['app 1', 'app 2']) expect(() => taken.enter(caller)).toThrow(ShedFault);
  taken.enter('app 3');
  taken.share('app 3', 'team');
  taken.enter('somebody else');
  taken.answered('req_1', 'app 1', true);
  taken.answered('req_2', 'app 3', false);
  expect(() => taken.enter('app 2')).toThrow(ShedFault);
  taken.ended('req_1');
  taken.enter('app 2');
  expect(taken.size).toBe(5);
});

test('accounts without a request are forgotten when there are very many, those with one are not', () => {
  const taken = slots(2);
  taken.enter('a');
  for (let number = 0; number < 30_000; number++) {
    taken.enter(`b${number}`);
    taken.answered(`req_${number}`, `b${number}`, false);
  }
  expect(() => taken.enter('a')).toThrow(ShedFault);
  expect(taken.size).toBe(1);
});

test('a request takes two files, and some are kept for everything else', () => {
  expect(slotsWithin(20_000, undefined)).toBe(20_000);
  expect(slotsWithin(20_000, 1_048_576)).toBe(20_000);
  expect(slotsWithin(20_000, 256)).toBe(80);
  expect(slotsWithin(20, 256)).toBe(20);
  expect(slotsWithin(20_000, 64)).toBe(8);
});
