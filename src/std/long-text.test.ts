import { expect, test } from 'bun:test';
import { decodeInSteps, encodeInSteps, LONG_TEXT, Turns } from './long-text.ts';

/** Characters of one to four bytes at the places where a step ends. */
const TEXTS = ['a', 'ü', '語', '🚪', '\ufeff'].flatMap((character) =>
  [1, 2, 3, 4].map((shift) => 'x'.repeat(shift) + character.repeat(LONG_TEXT)),
);

test('a text is the same in steps, wherever they end', async () => {
  for (const text of TEXTS) {
    const bytes = await encodeInSteps(text);
    expect(bytes.equals(Buffer.from(text))).toBeTrue();
    expect((await decodeInSteps(new TextDecoder(), bytes)) === text).toBeTrue();
  }
});

/** How many turns of the event loop others had until it was done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

test('other work has its turn between the steps', async () => {
  const text = '語'.repeat(5 * LONG_TEXT);
  expect(await turnsDuring(() => encodeInSteps(text))).toBeGreaterThanOrEqual(5);
  const bytes = new Uint8Array(5 * LONG_TEXT).fill(0x61);
  expect(await turnsDuring(() => decodeInSteps(new TextDecoder(), bytes))).toBeGreaterThanOrEqual(5);
});

test('of several long texts, one step is done in each turn', async () => {
  const text = 'x'.repeat(5 * LONG_TEXT);
  const turns = await turnsDuring(() =>
    Promise.all([encodeInSteps(text), encodeInSteps(text), encodeInSteps(text)]),
  );
  expect(turns).toBeGreaterThanOrEqual(14);
});

test('what is no UTF-8 is refused in whichever step it is, and at the end', async () => {
  const strict = () => new TextDecoder('utf-8', { fatal: true });
  const bytes = new Uint8Array(2 * LONG_TEXT + 1).fill(0x61);
  bytes[LONG_TEXT + 5] = 0xff;
  expect(decodeInSteps(strict(), bytes)).rejects.toThrow();
  bytes[LONG_TEXT + 5] = 0x61;
  bytes[2 * LONG_TEXT] = 0xe8;
  expect(decodeInSteps(strict(), bytes)).rejects.toThrow();
});

test('of a crowd so many begin in each turn, in the order in which they came, and whoever comes alone begins at once', async () => {
  const turns = new Turns(3);
  const begun: number[][] = [];
  let now: number[] = [];
  const come = (id: number): unknown => turns.enter()?.then(() => now.push(id)) ?? now.push(id);
  const look = (): void => {
    begun.push(now);
    now = [];
  };
  for (let id = 0; id < 7; id++) come(id);
  look();
  for (let turn = 0; turn < 4; turn++) {
    await new Promise((next) => setImmediate(next));
    if (turn === 0) come(7);
    look();
  }
  expect(begun.flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(begun.map(({ length }) => length)).toEqual([3, 3, 2, 0, 0]);
  expect(turns.enter()).toBeUndefined();
});
