import { expect, test } from 'bun:test';
import { countTokens } from '../../std/tokens.ts';
import { Meter } from './meter.ts';

const chunkOf = (content: string) => ({
  id: 'c',
  object: 'chat.completion.chunk' as const,
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
});

const text = Array.from({ length: 1_700 }, (_, index) => ` word${index % 7} "né\n`).join('');

function pieces(size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** As bytes of a JSON string, every other piece parsed. */
function observe(meter: Meter, said: readonly string[], asRaw: (index: number) => boolean): void {
  said.forEach((piece, index) => {
    if (!asRaw(index)) return meter.observe(chunkOf(piece));
    const bytes = new TextEncoder().encode(`.${JSON.stringify(piece)}.`);
    meter.observeRaw(bytes, 2, bytes.length - 2);
  });
}

test('the count depends only on the text: not on its chunks, their form, or on reading it in between', () => {
  const counts = [64, 1_000, 3_000, 20_000].flatMap((size) =>
    [() => true, () => false, (index: number) => index % 2 === 0].flatMap((asRaw) =>
      [3, 1_000].map((askedEvery) => {
        const meter = new Meter({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
        const said = pieces(size);
        for (let at = 0; at < said.length; at += askedEvery) {
          observe(meter, said.slice(at, at + askedEvery), asRaw);
          meter.counted();
        }
        return meter.counted().output;
      }),
    ),
  );
  expect(new Set(counts).size).toBe(1);
  // Only a word that crosses the edge of a block may count twice.
  const edges = Math.ceil(text.length / 8_192);
  expect(Math.abs((counts[0] ?? 0) - countTokens(text))).toBeLessThanOrEqual(edges);
});

test('an empty answer costs only its input, and empty chunks are empty', () => {
  const meter = new Meter({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
  meter.observe(chunkOf(''));
  meter.observeRaw(new Uint8Array(10), 3, 3);
  expect(meter.counted()).toMatchObject({ input: 4 + countTokens('hi'), output: 0 });
});
