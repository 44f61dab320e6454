import { crc32, deflateSync, inflateSync } from 'node:zlib';

/** Writes 8-bit rows as a PNG file: RGB, or RGBA if there are four bytes for each pixel. */
export function encodePng(pixels: Uint8Array, width: number, height: number): Uint8Array<ArrayBuffer> {
  const channels = pixels.length / (width * height);
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8); // bits per channel
  header.setUint8(9, channels === 4 ? 6 : 2); // truecolour, with alpha or without; what follows stays 0
  return concat([
    SIGNATURE,
    chunk('IHDR', new Uint8Array(header.buffer)),
    chunk('sRGB', new Uint8Array([0])),
    chunk('IDAT', deflateSync(filterRows(pixels, width * channels, channels), { level: 4 })),
    chunk('IEND', new Uint8Array(0)),
  ]);
}

const SIGNATURE = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(data.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(data.length + 8, crc32(bytes.subarray(4, data.length + 8)));
  return bytes;
}

/**
 * Every byte becomes its difference to the pixel on its left. On dithered pictures this one filter gave smaller files
 * than choosing among all five per row, in a fraction of the time.
 */
function filterRows(pixels: Uint8Array, stride: number, channels: number): Uint8Array {
  const height = pixels.length / stride;
  const filtered = new Uint8Array((stride + 1) * height);
  for (let y = 0; y < height; y++) {
    const from = y * stride;
    const to = y * (stride + 1) + 1;
    filtered[to - 1] = 1;
    for (let at = 0; at < channels; at++) filtered[to + at] = pixels[from + at] ?? 0;
    for (let at = channels; at < stride; at++)
      filtered[to + at] = (pixels[from + at] ?? 0) - (pixels[from + at - channels] ?? 0);
  }
  return filtered;
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export interface Extent {
  readonly width: number;
  readonly height: number;
}

/** Decoded pixels, four bytes each. */
export interface Raster extends Extent {
  readonly rgba: Uint8Array;
}

const SIGNATURE_LENGTH = 8;
const PIXEL = 4;

/** Reads a PNG as Bun writes it: 8-bit RGBA, not interlaced. https://www.w3.org/TR/png-3/ */
export function readRgbaPng(file: Uint8Array): Raster {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const width = view.getUint32(16);
  const height = view.getUint32(20);
  if (view.getUint8(24) !== 8 || view.getUint8(25) !== 6 || view.getUint8(28) !== 0)
    throw new Error('the PNG is not 8-bit RGBA');
  const data: Uint8Array[] = [];
  for (let at = SIGNATURE_LENGTH; at + 12 <= file.length;) {
    const length = view.getUint32(at);
    const type = view.getUint32(at + 4);
    if (type === IDAT) data.push(file.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const maxOutputLength = (width * PIXEL + 1) * height;
  const raw = inflateSync(data.length === 1 ? (data[0] ?? file) : Buffer.concat(data), { maxOutputLength });
  return { width, height, rgba: unfilter(raw, width * PIXEL, height) };
}

const IDAT = 0x49_44_41_54;

/** Each row begins with how its bytes were predicted from their neighbours. */
function unfilter(raw: Uint8Array, stride: number, height: number): Uint8Array {
  const pixels = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const from = y * (stride + 1);
    const filter = raw[from] ?? 0;
    const row = y * stride;
    for (let x = 0; x < stride; x++) {
      const left = x < PIXEL ? 0 : (pixels[row + x - PIXEL] ?? 0);
      const above = y === 0 ? 0 : (pixels[row + x - stride] ?? 0);
      const corner = x < PIXEL || y === 0 ? 0 : (pixels[row + x - stride - PIXEL] ?? 0);
      pixels[row + x] = (raw[from + 1 + x] ?? 0) + predicted(filter, left, above, corner);
    }
  }
  return pixels;
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) >> 1;
    case 4:
      return paeth(left, above, corner);
    default:
      return 0;
  }
}

function paeth(left: number, above: number, corner: number): number {
  const toLeft = Math.abs(above - corner);
  const toAbove = Math.abs(left - corner);
  const toCorner = Math.abs(left + above - 2 * corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
