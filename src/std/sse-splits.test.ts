import { describe, expect, test } from 'bun:test';
import { SseOverflow, SseReader, type SseEvent } from './sse.ts';

/** What is carried from one piece of a stream to the next. */

const utf8 = new TextEncoder();
const pushed = (...pieces: string[]): SseEvent[][] => {
  const reader = new SseReader();
  return pieces.map((piece) => reader.push(utf8.encode(piece)));
};

describe('a carriage return at the end of a piece', () => {
  test('and the line feed after it are one line end, even with an empty piece between them', () => {
    expect(pushed('data: a\r', '', '\ndata: b\r\n\r\n')).toEqual([[], [], [{ data: 'a\nb' }]]);
  });

  test('takes one line feed only: the next one is a line end of its own', () => {
    expect(pushed('data: a\r', '\n', '\n')).toEqual([[], [], [{ data: 'a' }]]);
    expect(pushed('data: a\r', 'data: b\n', '\n')).toEqual([[], [], [{ data: 'a\nb' }]]);
  });
});

test('a value may follow its colon without a space, and only one space belongs to the colon', () => {
  expect(pushed('event:delta\nid:7\ndata:x\n\n')).toEqual([[{ data: 'x', event: 'delta', id: '7' }]]);
  expect(pushed('event:  delta\nid:  7\ndata:  x\n\n')).toEqual([
    [{ data: ' x', event: ' delta', id: ' 7' }],
  ]);
});

test('a line that grows over many pieces is refused as soon as it is too long, without an end', () => {
  const reader = new SseReader(20);
  reader.push(utf8.encode('data: 0123456789'));
  reader.push(utf8.encode('0123'));
  expect(() => reader.push(utf8.encode('4'))).toThrow(SseOverflow);
});

test('data of several lines is refused when it is too long as a whole, and not before', () => {
  const read = (last: string) => new SseReader(20).push(utf8.encode(`data:123456789\ndata:${last}\n\n`));
  expect(read('1234567890')).toEqual([{ data: '123456789\n1234567890' }]);
  expect(() => read('12345678901')).toThrow('a server-sent event is longer than 20 characters');
});

test('a line may have a million characters, and not one more', () => {
  const line = `data:${'x'.repeat(1_048_576 - 5)}`;
  expect(new SseReader().push(utf8.encode(`${line}\n\n`))).toHaveLength(1);
  const thrown = (() => {
    try {
      return new SseReader().push(utf8.encode(`${line}x\n\n`));
    } catch (error) {
      return error;
    }
  })();
  expect(thrown).toMatchObject({ name: 'SseOverflow' });
});

describe('the next byte starts a new event', () => {
  const isBetween = (...pieces: string[]): boolean => {
    const reader = new SseReader();
    for (const piece of pieces) reader.push(utf8.encode(piece));
    return reader.isBetweenEvents;
  };

  test.each([
    ['after a whole event', ['data: a\n\n']],
    ['after an event in two pieces', ['data: a', '\n\n']],
    ['after an event whose line breaks came one by one', ['data: a', '\n', '\n']],
    ['after a comment', [': ping\n\n']],
    ['after a comment that is one line so far', [': ping\n']],
    ['and an empty piece changes nothing', ['data: a\n\n', '']],
  ])('%s', (_, pieces) => {
    expect(isBetween(...pieces)).toBe(true);
  });

  test.each([
    ['before anything has come: it could be a byte order mark', []],
    ['within a line', ['data: a\n\nda']],
    ['within a line of which one byte has come', ['data: a\n\n', 'd']],
    ['after the data of an event', ['data: a\n']],
    ['after the name of an event', ['event: x\n']],
    ['after the id of an event', ['id: 1\n']],
    ['after a carriage return, which a line feed may follow', ['data: a\r\r']],
    ['within a comment', [': pi']],
  ])('but not %s', (_, pieces) => {
    expect(isBetween(...pieces)).toBe(false);
  });
});
