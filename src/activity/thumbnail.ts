import { BoundedQueue } from '../std/bounded-queue.ts';

const EDGE = 256;
const QUALITY = 80;
/** Four bytes of memory for each. */
const MAX_PIXELS = 50_000_000;

/** Each takes a thread of Bun's and the memory of its pixels; whoever opens a page of the gallery wants many. */
const queue = new BoundedQueue({ parallel: 2, waiting: 200 });

/** A small WebP; `undefined` if the image cannot be decoded, or too many others wait. Made on a thread of Bun's. */
export async function makeThumbnail(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const leave = await queue.enter();
  if (!leave) return undefined;
  try {
    const small = new Bun.Image(bytes, { maxPixels: MAX_PIXELS }).resize(EDGE, EDGE, {
      fit: 'inside',
      withoutEnlargement: true,
    });
    return new Uint8Array(await small.webp({ quality: QUALITY }).bytes());
  } catch {
    // A format that this machine cannot decode is shown as it is.
    return undefined;
  } finally {
    leave();
  }
}

/** As its header says; `undefined` where it does not. */
export async function pixelSizeOf(
  bytes: Uint8Array,
): Promise<{ readonly width: number; readonly height: number } | undefined> {
  try {
    const { width, height } = await new Bun.Image(new Uint8Array(bytes)).metadata();
    return { width, height };
  } catch {
    // The image is delivered all the same; it was checked before.
    return undefined;
  }
}
