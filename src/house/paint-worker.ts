import { parentPort } from 'node:worker_threads';
import type { PaintOrder } from './paint/brief.ts';
import { paint } from './paint/paint.ts';

/** The result that the pool receives. One worker paints one image at a time. */
export type PaintResult =
  | { readonly kind: 'painted'; readonly png: Uint8Array<ArrayBuffer>; readonly description: string }
  | { readonly kind: 'failed'; readonly message: string };

parentPort?.on('message', (order: PaintOrder) => {
  const result = attempt(order);
  // The bytes are transferred to the main thread instead of being copied.
  parentPort?.postMessage(result, result.kind === 'painted' ? [result.png.buffer] : []);
});

function attempt(order: PaintOrder): PaintResult {
  try {
    const { png, description } = paint(order);
    return { kind: 'painted', png, description };
  } catch (thrown) {
    return { kind: 'failed', message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}
