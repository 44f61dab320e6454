import { inflateSync } from 'node:zlib';

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
