/**
 * The structure of image files, without their pixels: whether a file is whole, and the same file without what tells about
 * its making. A file that was cut off is no image, and is not charged.
 */

type Structure = (file: DataView) => boolean;

const STRUCTURES: Readonly<Record<string, Structure>> = {
  'image/png': isWholePng,
  'image/jpeg': isWholeJpeg,
  'image/webp': isWholeWebp,
  'image/gif': (file) => file.byteLength > GIF_HEADER && lastByteOf(file) === GIF_TRAILER,
  'image/avif': areWholeBoxes,
};

export function isWholeImage(bytes: Uint8Array, mime: string): boolean {
  return STRUCTURES[mime]?.(viewOf(bytes)) ?? false;
}

/** Without texts, Exif, XMP and certificates of origin; colours and pixels stay as they are. */
export function withoutMetadata(bytes: Uint8Array, mime: string): Uint8Array {
  if (mime === 'image/png') return joined(bytes, PNG_SIGNATURE, pngChunks(viewOf(bytes)), isPngMetadata);
  if (mime === 'image/jpeg') return strippedJpeg(bytes);
  return mime === 'image/webp' ? strippedWebp(bytes) : bytes;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** A part of a file, with its header and what follows it. */
interface Chunk {
  readonly type: string;
  readonly from: number;
  readonly to: number;
}

const PNG_SIGNATURE = 8;
const GIF_HEADER = 13;
const GIF_TRAILER = 0x3b;
/** More parts than any image has: a file of empty parts must not keep the process busy. */
const MAX_CHUNKS = 100_000;

function lastByteOf(file: DataView): number {
  return file.getUint8(file.byteLength - 1);
}

function textAt(file: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((index) => file.getUint8(at + index)));
}

/** Up to the end of the file, or to the first part that does not fit into it. */
function chunksOf(
  file: DataView,
  start: number,
  sizeAt: (at: number) => { readonly type: string; readonly size: number } | undefined,
): Chunk[] {
  const chunks: Chunk[] = [];
  let at = start;
  while (at + 8 <= file.byteLength && chunks.length < MAX_CHUNKS) {
    const { type, size } = sizeAt(at) ?? { type: '', size: 0 };
    if (size < 8 || at + size > file.byteLength) break;
    chunks.push({ type, from: at, to: at + size });
    at += size;
    if (type === 'IEND') break;
  }
  return chunks;
}

/** Length, type, data, checksum; https://www.w3.org/TR/png-3/#5Chunk-layout. */
function pngChunks(file: DataView): Chunk[] {
  return chunksOf(file, PNG_SIGNATURE, (at) => ({
    type: textAt(file, at + 4),
    size: file.getUint32(at) + 12,
  }));
}

function isWholePng(file: DataView): boolean {
  const chunks = pngChunks(file);
  const [first] = chunks;
  const hasSize =
    first?.type === 'IHDR' &&
    first.to - first.from === 25 &&
    file.getUint32(16) > 0 &&
    file.getUint32(20) > 0;
  return hasSize && chunks.some(({ type }) => type === 'IDAT') && chunks.at(-1)?.type === 'IEND';
}

const PNG_METADATA = new Set(['tEXt', 'zTXt', 'iTXt', 'eXIf', 'tIME', 'caBX']);

function isPngMetadata({ type }: Chunk): boolean {
  return PNG_METADATA.has(type);
}

function joined(
  bytes: Uint8Array,
  start: number,
  chunks: readonly Chunk[],
  isLeftOut: (chunk: Chunk) => boolean,
) {
  const kept = chunks.filter((chunk) => !isLeftOut(chunk));
  return Buffer.concat([bytes.subarray(0, start), ...kept.map(({ from, to }) => bytes.subarray(from, to))]);
}

const SOS = 0xda;

/** The segments before the pixels, and where those begin; undefined if they never do. ITU T.81, annex B. */
function jpegHead(file: DataView): { readonly segments: Chunk[]; readonly scan: number } | undefined {
  const segments: Chunk[] = [];
  let at = 2;
  while (at + 4 <= file.byteLength && segments.length < MAX_CHUNKS) {
    if (file.getUint8(at) !== 0xff) return undefined;
    const marker = file.getUint8(at + 1);
    const to = at + 2 + file.getUint16(at + 2);
    if (marker === 0xff) {
      at++;
      continue;
    }
    if (marker === SOS) return { segments, scan: at };
    if (to > file.byteLength) return undefined;
    segments.push({ type: marker.toString(16), from: at, to });
    at = to;
  }
  return undefined;
}

/** Start of frame, in all codings; C4, C8 and CC are tables. */
const FRAME = /^c[0-35-79abdef]$/;

/** The end marker is the last, but for padding: within the pixels, a byte FF is followed by 00 or a restart. */
function isWholeJpeg(file: DataView): boolean {
  const head = jpegHead(file);
  if (!head?.segments.some(({ type }) => FRAME.test(type))) return false;
  let end = file.byteLength - 1;
  while (end > head.scan && file.getUint8(end) === 0) end--;
  return end - 1 > head.scan && file.getUint8(end - 1) === 0xff && file.getUint8(end) === 0xd9;
}

/** Application segments but JFIF (E0), colour profiles (E2) and Adobe's colour transform (EE); comments. */
function isJpegMetadata(file: DataView, { type, from }: Chunk): boolean {
  if (type === 'fe') return true;
  if (!/^e[0-9a-f]$/.test(type) || type === 'e0' || type === 'ee') return false;
  return !(type === 'e2' && textAt(file, from + 4) === 'ICC_');
}

function strippedJpeg(bytes: Uint8Array): Uint8Array {
  const file = viewOf(bytes);
  const head = jpegHead(file);
  if (!head) return bytes;
  const scan = { type: 'scan', from: head.scan, to: bytes.byteLength };
  return joined(bytes, 2, [...head.segments, scan], (chunk) => isJpegMetadata(file, chunk));
}

const RIFF_HEADER = 12;

/** Type, length, data, padded to an even length; https://developers.google.com/speed/webp/docs/riff_container. */
function webpChunks(file: DataView): Chunk[] {
  return chunksOf(file, RIFF_HEADER, (at) => {
    const size = file.getUint32(at + 4, true);
    return { type: textAt(file, at), size: 8 + size + (size % 2) };
  });
}

function isWholeWebp(file: DataView): boolean {
  if (file.byteLength < RIFF_HEADER + 8 || file.getUint32(4, true) + 8 > file.byteLength) return false;
  const chunks = webpChunks(file);
  const end = chunks.at(-1)?.to ?? 0;
  const hasPixels = chunks.some(({ type }) => type === 'VP8 ' || type === 'VP8L' || type === 'ANMF');
  return hasPixels && end >= file.getUint32(4, true) + 8;
}

/** The flags of an extended file that say that Exif and XMP follow. */
const WEBP_METADATA_FLAGS = 0x08 | 0x04;

function strippedWebp(bytes: Uint8Array): Uint8Array {
  const chunks = webpChunks(viewOf(bytes));
  const stripped = joined(bytes, RIFF_HEADER, chunks, ({ type }) => type === 'EXIF' || type === 'XMP ');
  stripped.writeUInt32LE(stripped.byteLength - 8, 4);
  if (chunks[0]?.type === 'VP8X') stripped[20] = (stripped[20] ?? 0) & ~WEBP_METADATA_FLAGS;
  return stripped;
}

/** ISO 14496-12: boxes of a 32-bit length and a type, one after another. */
function areWholeBoxes(file: DataView): boolean {
  const boxes = chunksOf(file, 0, (at) => ({ type: textAt(file, at + 4), size: file.getUint32(at) }));
  return boxes.at(-1)?.to === file.byteLength && boxes.some(({ type }) => type === 'mdat');
}
