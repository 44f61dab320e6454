import { expect, test } from 'bun:test';
import { sentInPieces } from './sent-in-pieces.ts';

const PIECE = 262_144;
const stored = new Uint8Array(3 * PIECE + 5).map((_, index) => index % 251);

function reading(bytes: Uint8Array<ArrayBuffer> | undefined) {
  const parts: [start: number, end: number][] = [];
  const read = (start: number, end: number) => {
    parts.push([start, end]);
    return Promise.resolve(bytes?.slice(start, end));
  };
  return { parts, read };
}

test('a piece is read when the one before was taken, and together they are the whole', async () => {
  const { parts, read } = reading(stored);
  const body = (await sentInPieces(stored.length, read)) as ReadableStream<Uint8Array>;
  expect(parts).toEqual([[0, PIECE]]);
  const reader = body.getReader();
  const taken = [(await reader.read()).value!];
  expect(parts).toHaveLength(1);
  taken.push((await reader.read()).value!);
  expect(parts).toHaveLength(2);
  for (let next = await reader.read(); !next.done; next = await reader.read()) taken.push(next.value);
  expect(Buffer.concat(taken).equals(stored)).toBe(true);
  expect(parts.at(-1)).toEqual([3 * PIECE, stored.length]);
});

test('what fits into one piece is sent at once, with its length', async () => {
  const { parts, read } = reading(stored.slice(0, 5));
  expect(await sentInPieces(5, read)).toEqual(stored.slice(0, 5));
  expect(parts).toEqual([[0, 5]]);
});

test('what is gone is no body; what goes while it is sent breaks off', async () => {
  expect(await sentInPieces(stored.length, reading(undefined).read)).toBeUndefined();
  const { read } = reading(stored);
  const body = await sentInPieces(stored.length, (start, end) =>
    start === 0 ? read(start, end) : Promise.resolve(undefined),
  );
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  expect(reader.read()).rejects.toThrow('deleted while it was sent');
});
