import { expect, test } from 'bun:test';
import { crc32, deflateSync } from 'node:zlib';
import type { ImageRequest } from '../wire/openai/images.ts';
import { finishingImages } from './finished-images.ts';
import { sniffMime } from './image-response.ts';
import { isWholeImage, withoutMetadata } from './image-structure.ts';
import type { GeneratedImage, Upstream, UpstreamImageCall } from './port.ts';

/** What a client gets and pays for, whatever a backend calls an image. */

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const painted = (): Bun.Image => new Bun.Image(Buffer.from(PIXEL, 'base64')).resize(64, 48);
const FILES: Readonly<Record<string, Uint8Array>> = {
  'image/png': await painted().png().bytes(),
  'image/jpeg': await painted().jpeg().bytes(),
  'image/webp': await painted().webp().bytes(),
};
const progressive = await painted().jpeg({ progressive: true }).bytes();
const lossless = await painted().webp({ lossless: true }).bytes();

test.each(Object.entries(FILES))('%s: a whole file is one, and none that is cut anywhere', (mime, bytes) => {
  expect(isWholeImage(bytes, mime)).toBe(true);
  const cuts = Array.from({ length: bytes.length }, (_, length) => length);
  expect(cuts.filter((length) => isWholeImage(bytes.subarray(0, length), mime))).toEqual([]);
});

test('a progressive JPEG, a lossless WebP and a padded file are whole', () => {
  expect(isWholeImage(progressive, 'image/jpeg')).toBe(true);
  expect(isWholeImage(lossless, 'image/webp')).toBe(true);
  expect(isWholeImage(Buffer.concat([progressive, new Uint8Array(7)]), 'image/jpeg')).toBe(true);
});

test('a file without pixels, or of no known format, is no image', () => {
  const png = Buffer.from(FILES['image/png'] ?? []);
  const data = png.indexOf('IDAT');
  const renamed = Buffer.from(png);
  renamed.write('iDAT', data);
  expect(isWholeImage(renamed, 'image/png')).toBe(false);
  expect(isWholeImage(png, 'image/svg+xml')).toBe(false);
  const wide = Buffer.from(png);
  wide.writeUInt32BE(0, 16);
  expect(isWholeImage(wide, 'image/png')).toBe(false);
});

test('what cannot be decoded is left out; if nothing is left, the backend failed', async () => {
  const whole = imageOf('image/png');
  const cut = { ...whole, bytes: whole.bytes.subarray(0, 60) };
  expect((await finish([whole, cut, whole], {})).map(({ mime }) => mime)).toEqual(['image/png', 'image/png']);
  await expect(finish([cut], {})).rejects.toMatchObject({ kind: 'protocol' });
});

test.each([
  ['a PNG with half of its pixels', () => halfPng(), 'image/png'],
  ['a PNG whose pixels are noise', () => damagedPng(), 'image/png'],
  ['a WebP whose pixels are noise', () => damagedWebp(), 'image/webp'],
])('%s has the structure of a file and is left out all the same', async (_, make, mime) => {
  const bytes = make();
  expect(isWholeImage(bytes, mime)).toBe(true);
  const whole = imageOf('image/png');
  expect(await finish([{ bytes, mime }, whole], {})).toEqual([whole]);
  await expect(finish([{ bytes, mime }], {})).rejects.toMatchObject({ kind: 'protocol' });
});

test.each([{}, { output_format: 'jpeg' }])(
  'an image of more than 50 megapixels is not decoded, and left out as one that cannot be: %p',
  async (request) => {
    const whole = imageOf('image/png');
    const large = { bytes: Buffer.from(whole.bytes), mime: 'image/png' };
    large.bytes.writeUInt32BE(10_000, 16);
    large.bytes.writeUInt32BE(5_001, 20);
    large.bytes.writeUInt32BE(crc32(large.bytes.subarray(12, 29)), 29);
    expect(isWholeImage(large.bytes, 'image/png')).toBe(true);
    expect(await finish([large, whole], request)).toHaveLength(1);
    await expect(finish([large], request)).rejects.toMatchObject({ kind: 'protocol' });
  },
);

test('pixels that turn out to be damaged when they are converted are left out too', async () => {
  const png = Buffer.from(imageOf('image/png').bytes);
  png.fill(0xff, png.indexOf('IDAT') + 4, png.indexOf('IEND') - 8);
  const damaged = { bytes: png, mime: 'image/png' };
  expect(isWholeImage(png, 'image/png')).toBe(true);
  await expect(finish([damaged], { output_format: 'webp' })).rejects.toMatchObject({ kind: 'protocol' });
});

test.each(Object.keys(FILES).flatMap((from) => ['png', 'jpeg', 'webp'].map((to) => [from, to] as const)))(
  '%s becomes %s when that is asked for',
  async (from, to) => {
    const [image] = await finish([imageOf(from)], { output_format: to });
    expect([image?.mime, sniffMime(image?.bytes ?? new Uint8Array())]).toEqual([
      `image/${to}`,
      `image/${to}`,
    ]);
    expect(await new Bun.Image(image?.bytes ?? '').metadata()).toMatchObject({ width: 64, height: 48 });
    // What fits already is not touched.
    if (from === `image/${to}`) expect(image?.bytes).toBe(imageOf(from).bytes);
  },
);

test('the compression that is asked for is a quality', async () => {
  const noise = new Bun.Image(noisyPng());
  const image = { bytes: await noise.png().bytes(), mime: 'image/png' };
  const sizeAt = async (output_compression: number): Promise<number> =>
    (await finish([image], { output_format: 'jpeg', output_compression }))[0]?.bytes.length ?? 0;
  expect(await sizeAt(10)).toBeLessThan((await sizeAt(95)) / 2);
});

const SECRET = 'a prompt that nobody else should read';

test.each(Object.keys(FILES))('%s: metadata is taken out on request, and the picture stays', async (mime) => {
  const marked = { bytes: withMetadata(mime), mime };
  expect(Buffer.from(marked.bytes).includes(SECRET)).toBe(true);
  const [kept] = await finish([marked], {});
  expect(kept?.bytes).toBe(marked.bytes);
  const [stripped] = await finish([marked], { strip_metadata: true });
  expect(Buffer.from(stripped?.bytes ?? []).includes(SECRET)).toBe(false);
  expect(isWholeImage(stripped?.bytes ?? new Uint8Array(), mime)).toBe(true);
  const pixels = (bytes: Uint8Array) => new Bun.Image(bytes).png().bytes();
  expect(await pixels(stripped?.bytes ?? new Uint8Array())).toEqual(await pixels(imageOf(mime).bytes));
  expect(withoutMetadata(stripped?.bytes ?? new Uint8Array(), mime)).toEqual(
    Buffer.from(stripped?.bytes ?? []),
  );
});

test('the backend is not told of what is done here', async () => {
  const requests: ImageRequest[] = [];
  await finish([imageOf('image/png')], { strip_metadata: true, seed: 1 }, requests);
  expect(requests).toEqual([{ model: 'm', prompt: 'a gate', seed: 1 }]);
});

test('many conversions at once all end', async () => {
  const images = Array.from({ length: 20 }, () => imageOf('image/png'));
  expect(await finish(images, { output_format: 'webp' })).toHaveLength(20);
});

/** Its data end in the middle of a row; chunks and checksums are right. */
function halfPng(): Uint8Array {
  const png = Buffer.from(noisyPng());
  const data = png.indexOf('IDAT');
  const half = png.subarray(data + 4, data + 4 + Math.floor(png.readUInt32BE(data - 4) / 2));
  return Buffer.concat([
    png.subarray(0, data - 4),
    pngChunk('IDAT', half),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function damagedPng(): Uint8Array {
  const png = Buffer.from(imageOf('image/png').bytes);
  png.fill(0xff, png.indexOf('IDAT') + 4, png.indexOf('IEND') - 8);
  return png;
}

function damagedWebp(): Uint8Array {
  const webp = Buffer.from(lossless);
  webp.fill(0xff, webp.indexOf('VP8L') + 13);
  return webp;
}

function imageOf(mime: string): GeneratedImage {
  return { bytes: FILES[mime] ?? new Uint8Array(), mime };
}

async function finish(
  images: readonly GeneratedImage[],
  fields: Partial<ImageRequest>,
  requests: ImageRequest[] = [],
): Promise<readonly GeneratedImage[]> {
  const backend: Upstream = {
    name: 'backend',
    chat: () => Promise.reject(new Error('no chat')),
    images: ({ request }) => {
      requests.push(request);
      return Promise.resolve({ images });
    },
    check: () => Promise.reject(new Error('no check')),
  };
  const request = { model: 'm', prompt: 'a gate', ...fields } as ImageRequest;
  const call: UpstreamImageCall = {
    model: 'm',
    request,
    size: '64x48',
    signal: new AbortController().signal,
    requestId: 'req_1',
  };
  return (await finishingImages(backend).images(call)).images;
}

function withMetadata(mime: string): Uint8Array {
  const bytes = Buffer.from(FILES[mime] ?? []);
  const text = Buffer.from(SECRET);
  if (mime === 'image/png')
    return insert(bytes, 33, pngChunk('tEXt', Buffer.concat([Buffer.from('prompt\0'), text])));
  if (mime === 'image/jpeg') {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(text.length + 2);
    return insert(bytes, 2, Buffer.concat([Buffer.from([0xff, 0xe1]), length, text]));
  }
  return webpWithExif(bytes, text);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

/** A simple file becomes an extended one: a header with the flag of Exif, the pixels, the Exif. */
function webpWithExif(simple: Buffer, text: Buffer): Uint8Array {
  const padded = text.length % 2 === 0 ? text : Buffer.concat([text, Buffer.alloc(1)]);
  const body = Buffer.concat([
    Buffer.from('WEBP'),
    riffChunk('VP8X', Buffer.from([0x08, 0, 0, 0, 63, 0, 0, 47, 0, 0])),
    simple.subarray(12),
    riffChunk('EXIF', padded),
  ]);
  return riffChunk('RIFF', body);
}

function riffChunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(data.length);
  return Buffer.concat([Buffer.from(type), length, data]);
}

function insert(bytes: Buffer, at: number, piece: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
}

/** 64 × 64 pixels without a pattern, so that quality matters. */
function noisyPng(): Uint8Array {
  const rows = Buffer.alloc(64 * (1 + 64 * 3));
  for (let index = 0; index < rows.length; index++)
    rows[index] = index % 193 === 0 ? 0 : (index * 7919 * 31) % 251;
  const header = Buffer.from([0, 0, 0, 64, 0, 0, 0, 64, 8, 2, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}
