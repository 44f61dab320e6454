import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { openAiEncoder, type ChatEncoder } from '../../wire/openai/answer.ts';
import type { ChatChunk } from '../../wire/openai/chat.ts';
import { ChunkTemplate, ChunkTemplates, OutputBuffer } from './chunk-template.ts';

/**
 * A template takes every event that differs from its chunk only in the text, and none that differs in anything else: it
 * stops right before that one. What it writes is what the encoder would have written.
 */

const NAMES = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'theirs' };
const encoder = openAiEncoder({ id: 'req_1', model: 'ours' }, false);
/** Writes JSON of its own, so that escapes in the backend's text do not pass as they are. */
const decoding: ChatEncoder = {
  ...encoder,
  chunk: (_, parsed) => `data: ${JSON.stringify({ said: parsed.choices[0]?.delta.content })}\n\n`,
};

const chunk = (delta: object, more: object = {}, choice: object = {}): string =>
  JSON.stringify({ ...NAMES, choices: [{ index: 0, delta, finish_reason: null, ...choice }], ...more });
const content = (text: string): string => chunk({ content: text });
const event = (data: string): string => `data: ${data}\n\n`;
const encoded = (data: string, by: ChatEncoder = encoder): string =>
  by.chunk(data, JSON.parse(data) as ChatChunk);

const templateOf = (data: string, by: ChatEncoder = encoder) =>
  ChunkTemplate.of(data, JSON.parse(data) as ChatChunk, by);

function translated(template: ChunkTemplate, bytes: Uint8Array, from = 0) {
  const output = new OutputBuffer();
  const billed: string[] = [];
  const stop = template.translate(bytes, from, output, {
    observeRaw: (raw, begin, end) => void billed.push(Buffer.from(raw.subarray(begin, end)).toString()),
  });
  return { stop, text: Buffer.from(output.take() ?? []).toString(), billed };
}

function learned(data: string, by: ChatEncoder = encoder): ChunkTemplate {
  const template = templateOf(data, by);
  if (!template) throw new Error(`no template: ${data}`);
  return template;
}

describe('events that differ only in their text are translated without being parsed', () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ minLength: 1 }));
  // Lone halves of a pair are written as \u escapes, which are left to the parser, as are control characters.
  const ordinary = text.filter((one) => one.isWellFormed() && !JSON.stringify(one).includes('\\u'));

  test('any text, between texts of any length, from any place, up to the first event of another kind', () => {
    fc.assert(
      fc.property(
        fc.array(ordinary, { minLength: 1 }),
        fc.array(fc.nat(400), { minLength: 2, maxLength: 2 }),
        fc.constantFrom(
          '',
          'data: [DONE]\n\n',
          ': ping\n\n',
          event(chunk({}, {}, { finish_reason: 'stop' })),
        ),
        (texts, [before = 0, after = 0], rest) => {
          const said = (one: string): string =>
            chunk({ role: 'r'.repeat(before), content: one }, { more: 'm'.repeat(after) });
          const skipped = Buffer.from('skipped');
          const events = Buffer.from(texts.map((one) => event(said(one))).join(''));
          const bytes = Buffer.concat([skipped, events, Buffer.from(rest)]);
          expect(translated(learned(said('first')), bytes, skipped.length)).toEqual({
            stop: skipped.length + events.length,
            text: texts.map((one) => encoded(said(one))).join(''),
            billed: texts.map((one) => JSON.stringify(one).slice(1, -1)),
          });
        },
      ),
    );
  });

  test.each([
    ['data: ', '\n\n'],
    ['data:', '\n\n'],
    ['data: ', '\r\n\r\n'],
    ['data:', '\r\n\r\n'],
  ])('the event may be written as %j…%j', (field, end) => {
    const bytes = Buffer.from(`${field}${content('Grüße')}${end}`);
    expect(translated(learned(content('a')), bytes)).toEqual({
      stop: bytes.length,
      text: encoded(content('Grüße')),
      billed: ['Grüße'],
    });
  });

  test('padding may differ too, in any order, and only the text is billed', () => {
    const padded = (text: string, pad: string): string => chunk({ content: text }, { obfuscation: pad });
    const first = (text: string, pad: string): string =>
      JSON.stringify({ p: pad, ...(JSON.parse(content(text)) as object) });
    for (const write of [padded, first]) {
      const bytes = Buffer.from(event(write('bc', 'defg')));
      expect(translated(learned(write('a', 'x')), bytes)).toEqual({
        stop: bytes.length,
        text: encoded(write('bc', 'defg')),
        billed: ['bc'],
      });
    }
  });

  test('up to four texts differ, not five', () => {
    const names = ['content', 'refusal', 'obfuscation', 'p'];
    const fields = (values: string[], keys = names) =>
      chunk({}, Object.fromEntries(keys.map((key, index) => [key, values[index]])), {
        delta: { reasoning: 'why' },
      });
    // The text that is billed is one of them.
    expect(templateOf(fields(['a', 'b', 'c'], names.slice(1)))).toBeDefined();
    expect(templateOf(fields(['a', 'b', 'c', 'd']))).toBeUndefined();
    const bytes = Buffer.from(event(fields(['1', '22', '333'], names.slice(1))));
    expect(translated(learned(fields(['a', 'b', 'c'], names.slice(1))), bytes)).toEqual({
      stop: bytes.length,
      text: encoded(fields(['1', '22', '333'], names.slice(1))),
      billed: ['why'],
    });
  });

  test('by an encoder that writes the decoded text, unless there is an escape in it', () => {
    const template = learned(content('a'), decoding);
    const plain = Buffer.from(event(content('Grüße')));
    expect(translated(template, plain)).toEqual({
      stop: plain.length,
      text: encoded(content('Grüße'), decoding),
      billed: ['Grüße'],
    });
    expect(translated(template, Buffer.from(event(content('a "b"')))).stop).toBe(0);
  });
});

describe('an event that is anything else stops the translation before it', () => {
  const template = learned(content('a'));
  const good = event(content('good'));

  test.each([
    ['one byte is missing at its end', event(content('bad')).slice(0, -1)],
    ['another member', event(chunk({ content: 'bad' }, { extra: 1 }))],
    ['another member’s value', event(chunk({ content: 'bad' }, { created: 1_700_000_001 }))],
    ['a finish reason', event(chunk({ content: 'bad' }, {}, { finish_reason: 'stop' }))],
    ['another field', `event: x\n${event(content('bad'))}`],
    ['another name of the field', event(content('bad')).replace('data', 'date')],
    ['a single line break', `data: ${content('bad')}\ndata: more\n\n`],
    ['a carriage return before a line', `data: ${content('bad')}\r\ndata: more\r\n\r\n`],
    ['a carriage return alone', `data: ${content('bad')}\r\r`],
    ['mixed line ends', `data: ${content('bad')}\r\n\n`],
    ['other mixed line ends', `data: ${content('bad')}\n\r\n`],
    ['something between its line ends', `data: ${content('bad')}\r.\r\n`],
    ['something before its line ends', `data: ${content('bad')}.\n\r\n`],
    ['a return without its line feed', `data: ${content('bad')}\r\n\r.`],
    ['a Unicode escape', event(content('bad').replace('bad', '\\u0062ad'))],
    ['an escape that JSON does not know', event(content('bad').replace('bad', '\\xad'))],
    ['a raw control character', event(content('bad').replace('bad', 'b\u001fd'))],
    ['a raw line break', event(content('bad').replace('bad', 'b\nd'))],
    ['a text without an end', 'data: {"id":"chatcmpl-1'],
  ])('%s', (_, bad) => {
    const bytes = Buffer.from(good + bad + good);
    const { stop, text, billed } = translated(template, bytes);
    expect({ stop, text, billed }).toEqual({
      stop: good.length,
      text: encoded(content('good')),
      billed: ['good'],
    });
  });

  test('bytes that are no UTF-8', () => {
    const bytes = Buffer.from(event(content('b?d')));
    const at = bytes.indexOf('b?d') + 1;
    for (const wrong of [0x80, 0xc3, 0xff]) {
      bytes[at] = wrong;
      expect(translated(template, bytes).stop).toBe(0);
    }
  });

  test('an event of which any part has not arrived yet', () => {
    const bytes = Buffer.from(good + event(content(`so ${'long '.repeat(40)}`)));
    for (let length = good.length; length < bytes.length; length++)
      expect(translated(template, bytes.subarray(0, length)).stop).toBe(good.length);
    expect(translated(template, bytes).stop).toBe(bytes.length);
  });

  test('any byte outside the text that is another one', () => {
    const first = event(content('text'));
    const at = first.indexOf('text');
    for (let index = 0; index < first.length; index++) {
      if (index >= at && index < at + 4) continue;
      const bytes = Buffer.from(first);
      bytes[index] = bytes[index] === 0x2a ? 0x2b : 0x2a;
      // The space after the colon is the one byte that may be missing, but not be another.
      expect({ index, stop: translated(template, bytes).stop }).toEqual({ index, stop: 0 });
    }
  });
});

describe('no template is made', () => {
  test.each([
    ['of a chunk with a finish reason', chunk({ content: 'a' }, {}, { finish_reason: 'stop' })],
    ['of a chunk with usage', chunk({ content: 'a' }, { usage: { prompt_tokens: 1, completion_tokens: 1 } })],
    ['of a chunk without text', chunk({ role: 'assistant' })],
    ['of a chunk with empty text', content('')],
    ['of a chunk without choices', JSON.stringify({ ...NAMES, choices: [] })],
    [
      'of two choices',
      JSON.stringify({ ...NAMES, choices: [{ delta: { content: 'a' } }, { delta: { role: 'x' } }] }),
    ],
    ['of data in several lines', content('a').replace(',', ',\n')],
    ['where two texts are billed', chunk({ content: 'a', refusal: 'b' })],
    ['where the text is no text of the answer', chunk({ role: 'a' }, { obfuscation: 'xyz' })],
    ['where the text is in no slot, whatever it says', chunk({ reasoning_text: 'Mark 1.' }, { p: 'x' })],
    ['of a chunk of more than eight thousand characters', content('a'.repeat(8_192))],
  ])('%s', (_, data) => {
    expect(templateOf(data)).toBeUndefined();
  });

  test('for an encoder whose chunks depend on more than their text', () => {
    for (const isUniform of [false, undefined]) {
      const { isUniform: _, ...rest } = encoder;
      const other = isUniform === undefined ? rest : { ...rest, isUniform };
      expect(templateOf(content('a'), other)).toBeUndefined();
    }
  });

  test('for an encoder that leaves out the text, or writes it twice', () => {
    expect(templateOf(content('a'), { ...encoder, chunk: () => 'data: x\n\n' })).toBeUndefined();
    expect(templateOf(content('a'), { ...encoder, chunk: (data) => data + data })).toBeUndefined();
  });
});

describe('the templates of one stream', () => {
  const meter = { observeRaw: () => undefined };
  const bytesOf = (data: string) => Buffer.from(event(data));

  test('translate nothing before they have learned', () => {
    const templates = new ChunkTemplates(encoder);
    expect(templates.isReady).toBe(false);
    expect(templates.translate(bytesOf(content('b')), 3, meter)).toBe(3);
    expect(templates.take()).toBeUndefined();
    templates.learn(content('a'), JSON.parse(content('a')) as ChatChunk);
    expect(templates.isReady).toBe(true);
    expect(templates.translate(bytesOf(content('b')), 0, meter)).toBe(bytesOf(content('b')).length);
    expect(Buffer.from(templates.take() ?? []).toString()).toBe(encoded(content('b')));
    expect(templates.take()).toBeUndefined();
  });

  test('keep the last one when a chunk cannot be learned from, and follow a chunk that looks different', () => {
    const templates = new ChunkTemplates(encoder);
    const learn = (data: string): void => templates.learn(data, JSON.parse(data) as ChatChunk);
    learn(content('a'));
    learn(chunk({ role: 'assistant' }));
    expect(templates.translate(bytesOf(content('b')), 0, meter)).toBeGreaterThan(0);
    learn(chunk({ reasoning: 'a' }));
    expect(templates.translate(bytesOf(content('b')), 0, meter)).toBe(0);
    expect(templates.translate(bytesOf(chunk({ reasoning: 'b' })), 0, meter)).toBeGreaterThan(0);
    templates.take();
  });

  test('give up after eight that served no other chunk, and begin to count again with one that did', () => {
    let learnt = 0;
    const counting: ChatEncoder = {
      ...encoder,
      chunk: (data, parsed) => {
        learnt++;
        return encoder.chunk(data, parsed);
      },
    };
    const stream = new ChunkTemplates(counting);
    const different = (round: number): string => chunk({ content: 'a' }, { created: round });
    const learn = (data: string): void => stream.learn(data, JSON.parse(data) as ChatChunk);
    for (let round = 0; round < 7; round++) learn(different(round));
    expect(stream.translate(bytesOf(different(6)), 0, meter)).toBeGreaterThan(0);
    stream.take();
    for (let round = 7; round < 10; round++) learn(different(round));
    expect(stream.translate(bytesOf(different(0)), 0, meter)).toBe(0);
    for (let round = 10; round < 30; round++) learn(different(round));
    expect(learnt).toBe(7 + 8);
  });
});

describe('the buffer that all streams share', () => {
  const bytes = (length: number, seed: number) =>
    Buffer.from(Array.from({ length }, (_, index) => (index * 7 + seed) % 256));

  test('gives back what was put in since the last time, whatever the sizes of the pieces', () => {
    const piece = fc.record({
      length: fc.oneof(fc.nat(100), fc.constantFrom(47, 48, 49, 1_023, 1_024, 1_025, 32_768, 40_000)),
      margin: fc.nat(5),
      how: fc.constantFrom('add' as const, 'copy' as const),
    });
    fc.assert(
      fc.property(fc.array(fc.array(piece, { maxLength: 4 }), { maxLength: 4 }), (rounds) => {
        const output = new OutputBuffer();
        // The last one as the first: views of a buffer that was too small are not used again.
        for (const pieces of [...rounds, rounds[0] ?? []]) {
          const expected = pieces.map(({ length, margin, how }, index) => {
            const source = bytes(length + 2 * margin, index);
            output[how](source, margin, margin + length);
            return source.subarray(margin, margin + length);
          });
          const whole = Buffer.concat(expected);
          const taken = output.take();
          expect(taken?.length ?? 0).toBe(whole.length);
          expect(Buffer.compare(Buffer.from(taken ?? []), whole)).toBe(0);
          expect(output.take()).toBeUndefined();
        }
      }),
    );
  });
});
