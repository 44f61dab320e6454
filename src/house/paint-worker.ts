import { parentPort } from 'node:worker_threads';
import type { PaintOrder } from './paint/brief.ts';
import { paint } from './paint/paint.ts';
import { UnusablePicture } from './paint/raster.ts';
import { readSources } from './paint/sources.ts';

/** The result that the pool receives. One worker paints one image at a time. */
export type PaintResult =
  | ({ readonly kind: 'painted' } & PaintedFile)
  | { readonly kind: 'unusable'; readonly param: 'image' | 'mask'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

export interface PaintedFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mime: string;
  readonly description: string;
}

parentPort?.on('message', (order: PaintOrder) => void reply(order));

async function reply(order: PaintOrder): Promise<void> {
  const result = await attempt(order);
  // The bytes are transferred to the main thread instead of being copied.
  parentPort?.postMessage(result, result.kind === 'painted' ? [result.bytes.buffer] : []);
}

async function attempt(order: PaintOrder): Promise<PaintResult> {
  try {
    const { png, description } = paint(order, await readSources(order));
    const bytes = await encoded(png, order);
    return { kind: 'painted', bytes, mime: `image/${order.format ?? 'png'}`, description };
  } catch (thrown) {
    if (thrown instanceof UnusablePicture)
      return { kind: 'unusable', param: thrown.param, message: thrown.message };
    return { kind: 'failed', message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

const USUAL_COMPRESSION = 95;

async function encoded(
  png: Uint8Array<ArrayBuffer>,
  { format = 'png', compression = USUAL_COMPRESSION }: PaintOrder,
): Promise<Uint8Array<ArrayBuffer>> {
  if (format === 'png') return png;
  const quality = Math.max(1, compression);
  const image = new Bun.Image(png);
  const file = await (format === 'jpeg' ? image.jpeg({ quality }) : image.webp({ quality })).bytes();
  // What Bun returns may be a view of a larger buffer, which cannot be transferred alone.
  return new Uint8Array(file);
}
