import { expect, test } from 'bun:test';
import { pictureSize } from './picture-size.ts';

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex');
const text = (latin: string): string => Buffer.from(latin, 'latin1').toString('hex');

/** The first bytes of each format, by its specification, for a picture of 640 × 480. */
const HEADERS: [string, Buffer][] = [
  ['PNG', hex('89504e470d0a1a0a 0000000d 49484452 00000280 000001e0 08060000')],
  ['GIF', hex(`${text('GIF89a')} 8002 e001 f70000`)],
  ['JPEG', hex('ffd8 ffe0 0004 0000 ffc4 0003 00 ffc2 0011 08 01e0 0280 03')],
  ['lossy WebP', hex(`${text('RIFF')} 00000000 ${text('WEBPVP8 ')} 00000000 000000 9d012a 8002 e001`)],
  ['lossless WebP', hex(`${text('RIFF')} 00000000 ${text('WEBPVP8L')} 00000000 2f 7fc27700`)],
  ['extended WebP', hex(`${text('RIFF')} 00000000 ${text('WEBPVP8X')} 0a000000 00000000 7f0200 df0100`)],
];

test.each(HEADERS)('the size of a %s is read from its first bytes', (_, bytes) => {
  expect(pictureSize(bytes)).toEqual({ width: 640, height: 480 });
});

test.each(HEADERS)('a %s that is cut has no size, and never throws', (_, bytes) => {
  for (let length = 0; length < bytes.length - 4; length++) pictureSize(bytes.subarray(0, length));
  expect(pictureSize(bytes.subarray(0, 8))).toBeUndefined();
});

test('other formats have no size', () => {
  expect(pictureSize(Buffer.from('<svg width="1"/>'))).toBeUndefined();
  expect(pictureSize(Buffer.alloc(64))).toBeUndefined();
  expect(pictureSize(Buffer.alloc(0))).toBeUndefined();
});
