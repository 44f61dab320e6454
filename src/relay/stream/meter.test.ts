import { expect, test } from 'bun:test';
import { vocabularyTokens as countTokens } from '../../tokenizer/testing/in-process-counter.ts';
import { chatInput } from '../testing/chat-input.ts';
import { Meter } from './meter.ts';

const chunkOf = (content: string) => ({
  id: 'c',
  object: 'chat.completion.chunk' as const,
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
});

const text = Array.from({ length: 7_000 }, (_, index) => ` word${index % 7} "né\n`).join('');

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
    meter.observeRaw(bytes, 2, bytes.length - 2, false);
  });
}

test('the count depends only on the text: not on its chunks, their form, or on reading it in between', async () => {
  const counted = [64, 1_000, 3_000, 20_000].flatMap((size) =>
    [() => true, () => false, (index: number) => index % 2 === 0].flatMap((asRaw) =>
      [3, 1_000].map(async (askedEvery) => {
        const meter = new Meter(chatInput());
        const said = pieces(size);
        for (let at = 0; at < said.length; at += askedEvery) {
          observe(meter, said.slice(at, at + askedEvery), asRaw);
          meter.delivered();
        }
        return (await meter.measure()).usage.output;
      }),
    ),
  );
  const counts = new Set(await Promise.all(counted));
  // Blocks are cut between two words, where every tokenizer begins a new token.
  expect([...counts]).toEqual([countTokens(text)]);
});

test('an empty answer costs only its input, and empty chunks are empty', async () => {
  const meter = new Meter(chatInput());
  meter.observe(chunkOf(''));
  meter.observeRaw(new Uint8Array(10), 3, 3, false);
  expect((await meter.measure()).usage).toMatchObject({ input: 4 + 3 + countTokens('hi'), output: 0 });
});
