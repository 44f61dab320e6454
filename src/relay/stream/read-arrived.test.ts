import { afterEach, beforeEach, expect, spyOn, test, type Mock } from 'bun:test';
import { onceArrivedIsRead } from './read-arrived.ts';

/** What a backend had sent before its client left: all of it is read, and then the backend is stopped. */

let mocks: Mock<(...args: never[]) => unknown>[];
let timer: { readonly run: () => void; readonly ms: number };
let nowMs: number;
beforeEach(() => {
  nowMs = 0;
  mocks = [
    spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
      timer = { run, ms };
    }) as never),
    spyOn(globalThis, 'setImmediate').mockImplementation(((run: () => void) => run()) as never),
    spyOn(performance, 'now').mockImplementation(() => nowMs),
  ] as never;
});
afterEach(() => {
  for (const mock of mocks) mock.mockRestore();
});

function begin(laggedMs: number) {
  const events = { bytesRead: 0 };
  let calls = 0;
  const callOff = onceArrivedIsRead(events, laggedMs, () => void calls++);
  /** The pause has passed, or more than it, and so many bytes came meanwhile. */
  const pass = (bytes: number, passedMs = timer.ms): void => {
    events.bytesRead += bytes;
    nowMs += passedMs;
    timer.run();
  };
  /** As many turns as the backend goes on for, if it never gets slower. */
  const endless = (passedMs?: number): number => {
    let turns = 0;
    for (; calls === 0; turns++) pass(1_048_576, passedMs);
    return turns;
  };
  return { pass, endless, calls: () => calls, callOff };
}

test('for a client that read along, ten short pauses are the end, at a model’s pace too', () => {
  const { pass, calls } = begin(0);
  expect(timer.ms).toBe(10);
  pass(1_048_576);
  // A very fast model: a thousand tokens in a second, each in an event of two hundred bytes.
  for (let pause = 0; pause < 10; pause++) {
    expect(calls()).toBe(0);
    pass((timer.ms / 1_000) * 1_000 * 200);
  }
  expect(calls()).toBe(1);
});

test('one piece in each turn of a busy process is no pause, whoever lagged', () => {
  for (const laggedMs of [0, 20, 3_000]) {
    const { pass, calls } = begin(laggedMs);
    for (let turn = 0; turn < 19; turn++) pass(16_384, 400);
    expect(calls()).toBe(0);
  }
});

test('what piled up behind a client that did not read is read as long as it comes faster than a model writes', () => {
  const { pass, calls } = begin(3_000);
  for (let turn = 0; turn < 30; turn++) pass(1_048_576);
  expect(calls()).toBe(0);
  expect(timer.ms).toBe(250);
  // A fast model: three hundred tokens in a second, each in an event of two hundred bytes.
  for (let pause = 0; pause < 3; pause++) {
    expect(calls()).toBe(0);
    pass((timer.ms / 1_000) * 300 * 200);
  }
  expect(calls()).toBe(1);
});

test('a backend that did not run for a moment is no backend that has sent everything', () => {
  const { pass, calls } = begin(3_000);
  for (const bytes of [1_048_576, 0, 0, 1_048_576, 0, 0, 1_048_576, 0, 0]) pass(bytes);
  expect(calls()).toBe(0);
  pass(0);
  expect(calls()).toBe(1);
});

test('a backend that never gets slower is stopped after a while, the sooner the shorter its client lagged', () => {
  const read = begin(0);
  read.endless();
  expect(nowMs).toBe(3_000);
  nowMs = 0;
  begin(60_000).endless();
  expect(nowMs).toBe(10_000);
});

test('silence while the machine stood still is no pause, and no reason to wait longer than the limit', () => {
  const { pass, calls } = begin(0);
  for (let pause = 0; pause < 9; pause++) pass(0);
  for (let late = 0; late < 20; late++) pass(0, 100);
  expect(calls()).toBe(0);
  pass(0);
  expect(calls()).toBe(1);

  nowMs = 0;
  const still = begin(0);
  let turns = 0;
  for (; still.calls() === 0; turns++) still.pass(0, 100);
  expect(turns).toBe(30);
});

test('in a process that is late, every socket is read some times before the time is up', () => {
  expect(begin(0).endless(500)).toBe(300);
  expect(begin(20).endless(500)).toBe(20);
});

test('nothing is called once it was called off', () => {
  const { pass, calls, callOff } = begin(100);
  callOff();
  pass(0);
  expect(calls()).toBe(0);
});
