import type { Model } from '../catalog/catalog.ts';
import type { ImageCall, RelayParts } from './call.ts';
import { pictureSize } from '../std/picture-size.ts';
import { RequestCounter } from './input/request-counter.ts';
/** "Each partial image incurs an additional 100 image output tokens": https://platform.openai.com/docs/guides/image-generation */
export const PARTIAL_TOKENS = 100;

/** By quality, for a square, a portrait and a landscape; the same page, "Cost and latency". */
const IMAGE_TOKENS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  low: { '1024x1024': 272, '1024x1536': 408, '1536x1024': 400 },
  medium: { '1024x1024': 1_056, '1024x1536': 1_584, '1536x1024': 1_568 },
  high: { '1024x1024': 4_160, '1024x1536': 6_240, '1536x1024': 6_208 },
};

interface CountedImages {
  readonly images: number;
  readonly partialImages: number;
  readonly size: string;
  /** The quality that the backend names, or else the request. */
  readonly quality: string | undefined;
  /** The most tokens of one image, as the catalog declares it, which are held. */
  readonly maxOutput: number;
}

/**
 * The output tokens of images whose backend reports none: by OpenAI's table where it has their size and quality, else as
 * many as the model declares for one. Never more than were held.
 */
export function countImageOutput({ images, partialImages, size, quality, maxOutput }: CountedImages): number {
  const listed = quality === undefined ? undefined : IMAGE_TOKENS[quality]?.[size];
  return images * Math.min(listed ?? maxOutput, maxOutput) + partialImages * PARTIAL_TOKENS;
}

/** The tokens of an image request's input by our own count, for a backend that reports none. */
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
  const loaded = await Promise.all(uploads.map((picture) => picture.load()));
  const pictures = loaded.reduce((sum, bytes) => sum + pictureTokens(bytes), 0);
  return { text: await counter.forCharge([request.prompt]), pictures };
}

const BASE_TOKENS = 65;
const TILE_TOKENS = 129;
const TILE_PIXELS = 512;

/**
 * A picture is scaled until its shorter side has 512 pixels; then each tile of 512 counts:
 * https://developers.openai.com/api/docs/guides/images-vision (GPT image 1). One whose size cannot be read
 * is a square.
 */
function pictureTokens(bytes: Uint8Array<ArrayBuffer> | undefined): number {
  const size = bytes && pictureSize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const { width, height } = size ?? { width: 1, height: 1 };
  const scale = Math.min(1, TILE_PIXELS / Math.min(width, height));
  const tiles = Math.ceil((width * scale) / TILE_PIXELS) * Math.ceil((height * scale) / TILE_PIXELS);
  return BASE_TOKENS + TILE_TOKENS * tiles;
}
