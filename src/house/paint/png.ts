import { crc32, deflateSync } from 'node:zlib';

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
