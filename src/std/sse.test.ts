import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { encodeEvent, MAX_EVENT_LENGTH, SSE_COMMENT, SseOverflow, SseReader, type SseEvent } from './sse.ts';

const encoder = new TextEncoder();

function readWhole(text: string): SseEvent[] {
  return readPieces([encoder.encode(text)]);
}

function readPieces(pieces: readonly Uint8Array[], reader = new SseReader()): SseEvent[] {
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const ends = [...new Set(cuts)].sort((a, b) => a - b);
  return [0, ...ends].map((start, i) => bytes.subarray(start, ends[i] ?? bytes.length));
}

/** Streams of real servers: OpenAI, Anthropic, a proxy with comments and CRLF, an old server with bare CR. */
const RECORDED = {
  openai:
    'data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n' +
    'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"Größe 日本語 👩‍👩‍👧 \\n"},"finish_reason":null}]}\n\n' +
    'data: {"id":"c1","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}\n\n' +
    'data: [DONE]\n\n',
  anthropic:
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","content":[]}}\n\n' +
    'event: ping\ndata: {"type": "ping"}\n\n' +
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"čau 🚀"}}\n\n' +
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  proxy:
    '\uFEFF: OPENROUTER PROCESSING\r\n\r\nid: 7\r\nevent: delta\r\ndata:{"é":1}\r\ndata: second\r\n\r\nretry: 3000\r\ndata: [DONE]\r\n\r\n',
  bareReturn: 'data: eins\r\rdata: zwei €\rdata\rdata: drei\r\r',
  unfinished: 'data: one\n\ndata: two',
};

describe('events do not depend on how the network split the stream', () => {
  for (const [name, text] of Object.entries(RECORDED)) {
    test(`${name}: split at every byte, and one byte at a time`, () => {
      const bytes = encoder.encode(text);
      const whole = readWhole(text);
      expect(whole.length).toBeGreaterThan(1);
      for (let cut = 0; cut <= bytes.length; cut++) {
        expect(readPieces([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
      }
      expect(readPieces(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)))).toEqual(whole);
      expect(JSON.stringify(whole)).not.toContain('\uFFFD');
    });
  }

  test('any text in any field, any line ending, any split', () => {
    const unicode = fc.string({ unit: 'grapheme' });
    const ending = fc.constantFrom('\n', '\r', '\r\n');
    const line = fc.oneof(
      unicode.map((text) => `data:${text}`),
      unicode.map((text) => `data: ${text}`),
      unicode.map((text) => `event: ${text}`),
      unicode.map((text) => `: ${text}`),
      fc.constantFrom('', 'data', 'id: 1', 'nonsense', 'retry: 5'),
    );
    const stream = fc
      .array(fc.tuple(line, ending).map((pair) => pair.join('')))
      .map((lines) => lines.join(''));
    fc.assert(
      fc.property(stream, fc.array(fc.nat(400)), (text, positions) => {
        const bytes = encoder.encode(text);
        const pieces = cutAt(
          bytes,
          positions.filter((at) => at <= bytes.length),
        );
        expect(readPieces(pieces)).toEqual(readWhole(text));
      }),
      { numRuns: 500 },
    );
  });

  test('what encodeEvent writes is read back, never with a replacement character', () => {
    const text = fc.string({ unit: 'binary' }).map((data) => data.toWellFormed().replaceAll('\uFFFD', ''));
    const name = fc.option(fc.stringMatching(/^[a-z_.]{1,20}$/), { nil: undefined });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, name)), fc.array(fc.nat(300)), (events, cuts) => {
        const bytes = encoder.encode(
          events.map(([data, event]) => encodeEvent(data, event)).join(SSE_COMMENT),
        );
        const pieces = cutAt(
          bytes,
          cuts.filter((at) => at <= bytes.length),
        );
        const expected = events.map(([data, event]) => ({
          data: data.replace(/\r\n?/g, '\n'),
          ...(event === undefined ? {} : { event }),
        }));
        expect(readPieces(pieces)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the format as servers write it', () => {
  test('fields, names, ids and several data lines', () => {
    expect(readWhole(RECORDED.proxy)).toEqual([
      { data: '{"é":1}\nsecond', event: 'delta', id: '7' },
      { data: '[DONE]' },
    ]);
    expect(readWhole(RECORDED.bareReturn)).toEqual([{ data: 'eins' }, { data: 'zwei €\n\ndrei' }]);
  });

  test('only one space after the colon is removed', () => {
    expect(readWhole('data:  two\n\ndata:none\n\n')).toEqual([{ data: ' two' }, { data: 'none' }]);
  });

  test('an event without data is no event, and its name does not leak into the next', () => {
    expect(readWhole('event: lost\n\ndata: kept\n\n')).toEqual([{ data: 'kept' }]);
  });

  test('an event is returned by the push that completes it', () => {
    const reader = new SseReader();
    expect(reader.push(encoder.encode('data: one\n'))).toEqual([]);
    expect(reader.push(encoder.encode('\n'))).toEqual([{ data: 'one' }]);
    expect(reader.push(encoder.encode('data: two\r\n\r'))).toEqual([{ data: 'two' }]);
    expect(reader.push(encoder.encode('\ndata: three\n\n'))).toEqual([{ data: 'three' }]);
    expect(reader.end()).toEqual([]);
  });

  test('the end returns an event that no blank line has closed', () => {
    expect(readWhole('data: [DONE]')).toEqual([{ data: '[DONE]' }]);
    expect(readWhole('data: [DONE]\n')).toEqual([{ data: '[DONE]' }]);
    expect(readWhole('')).toEqual([]);
  });
});

describe('memory is bounded', () => {
  const overflowing = {
    'a line without end': `data: ${'x'.repeat(200)}`,
    'a comment without end': `: ${'x'.repeat(200)}\n\n`,
    'an event without end': 'data: 0123456789\n'.repeat(20),
    'empty data without end': 'data\n'.repeat(200),
  };
  for (const [name, text] of Object.entries(overflowing)) {
    test(`${name} is refused, wherever it is split`, () => {
      const bytes = encoder.encode(text);
      for (let cut = 0; cut <= bytes.length; cut++) {
        const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
        expect(() => readPieces(pieces, new SseReader(100))).toThrow(SseOverflow);
      }
    });
  }

  test('the limit is per event, not per stream, and an event at the limit passes', () => {
    const event = encoder.encode(`data: ${'x'.repeat(94)}\n\n`);
    const reader = new SseReader(100);
    for (let i = 0; i < 50; i++) expect(reader.push(event)).toHaveLength(1);
  });

  test('a million characters one byte at a time do not take quadratic time', () => {
    const reader = new SseReader();
    const byte = encoder.encode('x');
    reader.push(encoder.encode('data: '));
    for (let i = 0; i < MAX_EVENT_LENGTH - 6; i++) reader.push(byte);
    expect(reader.push(encoder.encode('\n\n'))[0]?.data).toHaveLength(MAX_EVENT_LENGTH - 6);
  });
});
