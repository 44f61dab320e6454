/** "Each partial image incurs an additional 100 image output tokens": https://platform.openai.com/docs/guides/image-generation */
export const PARTIAL_TOKENS = 100;

/** By quality, for a square, a portrait and a landscape; the same page, "Cost and latency". */
const IMAGE_TOKENS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  low: { '1024x1024': 272, '1024x1536': 408, '1536x1024': 400 },
  medium: { '1024x1024': 1_056, '1024x1536': 1_584, '1536x1024': 1_568 },
  high: { '1024x1024': 4_160, '1024x1536': 6_240, '1536x1024': 6_208 },
};

export interface CountedImages {
  readonly images: number;
  readonly partialImages: number;
  readonly size: string;
  /** As the backend says, else as the request did. */
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
