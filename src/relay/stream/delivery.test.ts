import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { systemClock } from '../../std/clock.ts';
import type { RequestId } from '../../std/ids.ts';
import { openAiEncoder, type ChatEncoder } from '../../wire/openai/answer.ts';
import { Delivery, type StreamEnd } from './delivery.ts';
import type { EventSource } from './event-source.ts';
import { EventStream } from './event-stream.ts';
import { chatInput } from '../testing/chat-input.ts';
import { Meter } from './meter.ts';

/**
 * Ordinary chunks pass through a template, all others are parsed. There must be no difference: the same bytes, the same
 * count and the same end, wherever the network splits the stream and whichever path each chunk took.
 */

const utf8 = new TextEncoder();
const NAMES = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'theirs' };

const chunk = (delta: object, more: object = {}, choice: object = {}): string =>
  JSON.stringify({ ...NAMES, choices: [{ index: 0, delta, finish_reason: null, ...choice }], ...more });
const event = (data: string): string => `data: ${data}\n\n`;
const FINISH = event(chunk({}, {}, { finish_reason: 'stop' }));
const USAGE = event(
  JSON.stringify({
    ...NAMES,
    choices: [],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  }),
);
const DONE = event('[DONE]');

interface Delivered {
  readonly text: string;
  readonly end: StreamEnd;
  /** How many chunks were parsed and encoded one by one. */
  readonly encoded: number;
}

const untilNever = () => ({
  signal: new AbortController().signal,
  client: new AbortController().signal,
});

async function deliver(pieces: readonly Uint8Array[], way: 'template' | 'events'): Promise<Delivered> {
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) if (piece.length > 0) controller.enqueue(piece);
      controller.close();
    },
  });
  const events = await EventStream.open(source, untilNever());
  let encoded = 0;
  const encoder = (labels: { id: string; model: string }): ChatEncoder => {
    const usual = openAiEncoder(labels, true);
    const counting = (data: string, parsed: Parameters<ChatEncoder['chunk']>[1]): string => {
      encoded++;
      return usual.chunk(data, parsed);
    };
    return { ...usual, chunk: counting, isUniform: way === 'template' };
  };
  const ended = Promise.withResolvers<StreamEnd>();
  const delivery = Delivery.of(
    { requestId: 'req_1' as RequestId, label: 'ours', request: { model: 'ours', messages: [] }, encoder },
    { kind: 'stream', events },
    {
      meter: new Meter(chatInput()),
      clock: { now: () => 0 },
      limits: { idleMs: 1_000, totalMs: 1_000 },
      outputCap: 1_000,
      onEnd: async (end) => {
        ended.resolve(end);
        return undefined;
      },
    },
  );
  // Byte by byte: invalid UTF-8 must not look like its replacement character.
  const text = Buffer.from(await new Response(delivery.body()).bytes()).toString('latin1');
  return { text, end: await ended.promise, encoded };
}

/** Opening may already fail, with the same message on both paths. */
async function outcomeOf(pieces: readonly Uint8Array[], way: 'template' | 'events') {
  try {
    const { text, end } = await deliver(pieces, way);
    const { outcome, measured, fault } = end;
    return { text, outcome, measured, fault: fault?.message };
  } catch (thrown) {
    return { thrown: String(thrown) };
  }
}

const whole = (text: string): Uint8Array[] => [utf8.encode(text)];

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, index) => bytes.slice(start, ends[index] ?? bytes.length));
}

/** Every ¿ loses its first byte and becomes invalid UTF-8. */
function withoutLead(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, index) => (byte === 0xc2 && bytes[index + 1] === 0xbf ? 0x41 : byte));
}

const words = Array.from({ length: 50 }, (_, index) => ` wörd-${index}\n"`);

describe('ordinary chunks are not parsed one by one', () => {
  const shapes: [string, (word: string) => string][] = [
    [
      'as OpenAI writes them',
      (word) => chunk({ content: word }, { usage: null, obfuscation: `x${word.length}` }),
    ],
    ['of reasoning', (word) => chunk({ content: null, reasoning_content: word })],
    ['of a tool call', (word) => chunk({ tool_calls: [{ index: 0, function: { arguments: word } }] })],
    [
      'with the choices first',
      (word) => JSON.stringify({ choices: [{ delta: { content: word } }], ...NAMES }),
    ],
  ];
  test.each(shapes)('%s', async (_, shape) => {
    const text = event(chunk({ role: 'assistant', content: '' })) + words.map(shape).map(event).join('');
    const { encoded, text: given, end } = await deliver(whole(text + FINISH + DONE), 'events');
    expect(encoded).toBeGreaterThan(words.length);
    const translated = await deliver(cutAt(utf8.encode(text + FINISH + DONE), [700, 1_500]), 'template');
    expect(translated.encoded).toBeLessThan(20);
    expect(translated.text).toBe(given);
    expect(translated.end).toEqual(end);
    expect(given).not.toContain('theirs');
    expect(end.measured.usage.output).toBeGreaterThan(words.length);
  });

  test('a stream in which no chunk resembles the one before stops being learned from', async () => {
    const text = words.map((word, index) => event(chunk({ content: word }, { created: index }))).join('');
    const { encoded } = await deliver(whole(text + FINISH + DONE), 'template');
    // Each attempt to learn encodes once more.
    expect(encoded).toBeLessThan(words.length + 12);
  });
});

describe('on both paths of a chunk, the client and the ledger get the same', () => {
  const content = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom(
      '',
      ' the',
      ' world',
      '\ufeff',
      '🚪',
      '\\',
      '"',
      '\n',
      '\ud83d',
      'Mark 0.',
      '\u2028',
      '¿',
      '{"id":"',
    ),
  );
  const said = fc.oneof(
    { weight: 6, arbitrary: content.map((text) => chunk({ content: text })) },
    { weight: 2, arbitrary: content.map((text) => chunk({ content: null, reasoning_content: text })) },
    fc
      .tuple(content, content)
      .map(([text, pad]) => chunk({ content: text }, { obfuscation: pad, usage: null })),
    fc.tuple(content, content).map(([text, more]) => chunk({ content: text, refusal: more })),
    content.map((text) => chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: text } }] })),
    content.map((text) => chunk({ role: 'assistant', content: text })),
    content.map((text) => chunk({ content: text }, { created: text.length })),
    content.map((text) => chunk({ content: text }, {}, { index: 1 })),
    content.map((text) => chunk({ content: text }, {}, { finish_reason: 'length' })),
    content.map((text) => chunk({ content: text }, { usage: { prompt_tokens: 1, completion_tokens: 1 } })),
    content.map((text) => JSON.stringify({ choices: [{ delta: { content: text } }] })),
    content.map((text) => chunk({ content: text }).replace('"theirs"', '"the\\u0069rs"')),
    content.map((text) => chunk({ content: text }).replaceAll('":', '": ').replaceAll(',"', ', "')),
    content.map((text) => chunk({ content: text }).replaceAll('e', '\\u0065')),
    content.map((text) =>
      chunk({ content: `${text}/` })
        .replaceAll('":', '": ')
        .replace('/', '\\/'),
    ),
    content.map((text) => chunk({ content: text }).replace('"content":', '"content":"twice","content":')),
    content.map((text) => chunk({ content: `${text}#` }).replace('#', '\\x')),
    content.map((text) => chunk({ content: `${text}#` }).replace('#', '\t')),
    fc.constantFrom('{"error":{"message":"no"}}', 'garbage', '{}', '[DONE]'),
  );
  /** One event, well-formed or malformed. */
  const writings: ((data: string) => string)[] = [
    (data) => `data:${data}\n\n`,
    (data) => `data: ${data}\r\n\r\n`,
    (data) => `: ping\n\ndata: ${data}\n\n`,
    (data) => `id: 1\ndata: ${data}\n\n`,
    (data) => `data: ${data}\r\r`,
    (data) => `data: ${data.replace(',', ',\ndata: ')}\n\n`,
    (data) => `data: ${data.replace(',', ',\n')}\n\n`,
    ...Array.from({ length: 6 }, () => event),
  ];
  const written = fc
    .tuple(said, fc.constantFrom(...writings))
    .map(([data, write]) => withoutLead(utf8.encode(write(data))));
  const ending = fc.constantFrom(
    FINISH + DONE,
    FINISH + USAGE + DONE,
    FINISH,
    USAGE,
    DONE,
    'data: {"half',
    '',
  );
  const repeated = fc
    .array(fc.tuple(written, fc.integer({ min: 1, max: 4 })), { maxLength: 12 })
    .map((all) => all.flatMap(([bytes, times]) => Array.from({ length: times }, () => bytes)));

  test('for any chunks, however written and wherever split', async () => {
    await fc.assert(
      fc.asyncProperty(repeated, ending, fc.array(fc.nat(10_000)), async (events, last, cuts) => {
        const bytes = Buffer.concat([
          utf8.encode(event(chunk({ content: 'A' }))),
          ...events,
          utf8.encode(last),
        ]);
        const expected = await outcomeOf([new Uint8Array(bytes)], 'events');
        expect(await outcomeOf(cutAt(new Uint8Array(bytes), cuts), 'template')).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  }, 60_000);

  test('for a stream split at every byte', async () => {
    const said = ['Grüße', ' 世界', ' 🚪', ' "quoted"', ' \\\n', ' and', ' so', ' on'];
    const text = said.map((word) => event(chunk({ content: word }))).join('') + FINISH + USAGE + DONE;
    const bytes = utf8.encode(text);
    const expected = await outcomeOf([bytes], 'events');
    for (let cut = 1; cut < bytes.length; cut++)
      expect(await outcomeOf([bytes.slice(0, cut), bytes.slice(cut)], 'template')).toEqual(expected);
    expect(JSON.stringify(expected)).not.toContain(Buffer.from('\ufffd').toString('latin1'));
  }, 60_000);
});

/** By a clock that runs: a source without an end is drained for a limited time. */
function deliveryOf(events: EventSource): { delivery: Delivery; ended: Promise<StreamEnd> } {
  const ended = Promise.withResolvers<StreamEnd>();
  const delivery = Delivery.of(
    {
      requestId: 'req_1' as RequestId,
      label: 'ours',
      request: { model: 'ours', messages: [] },
      encoder: (labels) => openAiEncoder(labels, false),
    },
    { kind: 'stream', events },
    {
      meter: new Meter(chatInput()),
      clock: systemClock,
      limits: { idleMs: 60_000, totalMs: 60_000 },
      outputCap: 1_000_000,
      onEnd: async (end) => {
        ended.resolve(end);
        return undefined;
      },
    },
  );
  return { delivery, ended: ended.promise };
}

test('the backend is read at the pace of the client', async () => {
  let pulled = 0;
  const source = new ReadableStream<Uint8Array>(
    {
      // From the network nothing comes within a turn of the event loop.
      async pull(controller) {
        await new Promise((next) => setImmediate(next));
        pulled++;
        controller.enqueue(utf8.encode(event(chunk({ content: 'word '.repeat(200) }))));
      },
    },
    { highWaterMark: 0 },
  );
  const events = await EventStream.open(source, untilNever());
  const { delivery, ended } = deliveryOf(events);
  const reader = delivery.body().getReader();
  let read = 0;
  while (read < 500_000) read += (await reader.read()).value?.length ?? 0;
  const pulledBefore = pulled;
  for (let turn = 0; turn < 100; turn++) await new Promise((next) => setImmediate(next));
  // A few are in flight; without back-pressure there would be at least one per turn.
  expect(pulled - pulledBefore).toBeLessThan(50);
  await reader.cancel();
  expect((await ended).outcome).toBe('client_left');
});

test('a client that leaves while the backend is read does not have it read twice', async () => {
  let readings = 0;
  const events: EventSource = {
    bytesRead: 0,
    next: () => void readings++,
    release: () => undefined,
    cancel: () => undefined,
  };
  const { delivery, ended } = deliveryOf(events);
  const reader = delivery.body().getReader();
  const asked = reader.read();
  await reader.cancel();
  await asked;
  expect((await ended).outcome).toBe('client_left');
  expect(readings).toBe(1);
});

test('everything that arrived from the backend is charged, read or not, including the usage at its end', async () => {
  const said = event(chunk({ content: 'x'.repeat(1_000) })).repeat(100);
  const told = { prompt_tokens: 900, completion_tokens: 50_000, total_tokens: 50_900 };
  const usage = event(chunk({}, { choices: [], usage: told }));
  const source = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(utf8.encode(said + usage)),
  });
  const left = Promise.withResolvers<StreamEnd>();
  const delivery = Delivery.of(
    {
      requestId: 'req_1' as RequestId,
      label: 'ours',
      request: { model: 'ours', messages: [] },
      encoder: (labels) => openAiEncoder(labels, false),
    },
    { kind: 'stream', events: await EventStream.open(source, untilNever()) },
    {
      meter: new Meter(chatInput()),
      clock: { now: () => 0 },
      limits: { idleMs: 1_000, totalMs: 1_000 },
      outputCap: 1_000_000,
      onEnd: async (end) => {
        left.resolve(end);
        return undefined;
      },
    },
  );
  delivery.leave();
  expect(await left.promise).toMatchObject({
    outcome: 'client_left',
    measured: { source: 'upstream', usage: { input: 900, output: 50_000 } },
  });
});
