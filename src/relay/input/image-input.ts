import type { Model } from '../../catalog/catalog.ts';
import type { ImageCall, RelayParts } from '../call.ts';
import { pictureSize } from './picture-size.ts';
import { RequestCounter } from './request-counter.ts';

/** What the input of an image request counts, where its backend does not say. */
export interface ImageInputCount {
  readonly text: number;
  readonly pictures: number;
}

/** By our own count: the prompt as the model reads it, and each picture by its size. */
export async function countImageInput(
  { request, caller }: ImageCall,
  model: Model,
  parts: RelayParts,
): Promise<ImageInputCount> {
  const counter = new RequestCounter(parts, model, caller);
  const uploads = [...(request.image ?? []), ...(request.mask ? [request.mask] : [])];
  const pictures = uploads.reduce((sum, { bytes }) => sum + pictureTokens(bytes), 0);
  return { text: await counter.forCharge([request.prompt]), pictures };
}

const BASE_TOKENS = 65;
const TILE_TOKENS = 129;
const TILE_PIXELS = 512;

/**
 * A picture is scaled until its shorter side has 512 pixels; then each tile of 512 counts:
 * https://developers.openai.com/api/docs/guides/images-vision (GPT image 1). One whose size cannot be read is a square.
 */
function pictureTokens(bytes: Uint8Array): number {
  const { width, height } = pictureSize(Buffer.from(bytes)) ?? { width: 1, height: 1 };
  const scale = Math.min(1, TILE_PIXELS / Math.min(width, height));
  const tiles = Math.ceil((width * scale) / TILE_PIXELS) * Math.ceil((height * scale) / TILE_PIXELS);
  return BASE_TOKENS + TILE_TOKENS * tiles;
}
