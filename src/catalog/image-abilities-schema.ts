import { z } from 'zod';
import {
  edgesOf,
  FREE_FIELDS,
  isInRange,
  LISTED_FIELDS,
  MAX_EDGE,
  MAX_IMAGE_PIXELS,
  MAX_IMAGES,
  MAX_PARTIAL_IMAGES,
  MAX_REFERENCE_IMAGES,
  type ImageAbilities,
  type NamedSize,
  type SizeRange,
} from './image-abilities.ts';
import { size, word } from './price-schema.ts';
import { strict, whole } from './strict.ts';

const sellableSize = size.refine(
  (one) => {
    const [width, height] = edgesOf(one);
    return width * height <= MAX_IMAGE_PIXELS;
  },
  `must have at most ${MAX_IMAGE_PIXELS / 1_000_000} megapixels`,
);

const sizeList = z.array(sellableSize).min(1, 'must name at least one size').max(64);

const ratioFactor = z
  .union([z.number().meta({ minimum: 1 }), z.string().regex(/^\d{1,3}(\.\d{1,3})?$/)], {
    error: 'must be a number such as 3',
  })
  .transform(Number)
  .refine((value) => value >= 1 && value <= MAX_EDGE, 'must be at least 1');

const sizeRange = strict({
  default: size.describe('Where a request names no size.'),
  step: whole(1, 1024).default(1).describe('Both edges are multiples of it.'),
  min_edge: whole(10, MAX_EDGE).default(10),
  max_edge: whole(10, MAX_EDGE).describe('The longest edge.'),
  max_ratio: ratioFactor.optional().describe('The longer edge is at most this many times the shorter one.'),
  min_pixels: whole(1, MAX_IMAGE_PIXELS).default(1),
  max_pixels: whole(1, MAX_IMAGE_PIXELS).default(MAX_IMAGE_PIXELS),
});

export const modelSizes = z.union([sizeList, sizeRange], {
  error: 'must be a list of sizes, or a range with default and max_edge',
});

export type SizesEntry = z.output<typeof modelSizes>;

const ratioName = z.string().regex(/^[1-9]\d{0,2}:[1-9]\d{0,2}$/, 'must be an aspect ratio such as 16:9');
const byRatio = z.record(ratioName, size).refine(isNotEmpty, 'must name at least one aspect ratio');
const values = z
  .array(word)
  .min(1, 'must name at least one value')
  .max(64)
  .refine((all) => new Set(all).size === all.length, 'must not name a value twice')
  .optional();

export const imageAbilities = strict({
  max_n: whole(1, MAX_IMAGES).default(MAX_IMAGES).describe('The most images of one request.'),
  quality: values.describe('Each needs a price: by size and quality, or by the token.'),
  background: values,
  output_format: values,
  moderation: values,
  style: values,
  output_compression: z.boolean().default(false),
  seed: z.boolean().default(false),
  negative_prompt: z.boolean().default(false),
  aspect_ratio: byRatio
    .optional()
    .describe('The size that each stands for, such as { 1:1: 1024x1024, 16:9: 1792x1024 }.'),
  resolution: z
    .record(word, z.union([size, byRatio], { error: 'must be a size, or a map of aspect ratios to sizes' }))
    .refine(isNotEmpty, 'must name at least one resolution')
    .optional()
    .describe('The size that each stands for, or a map of aspect ratios to sizes; in place of aspect_ratio.'),
  reference_images: whole(0, MAX_REFERENCE_IMAGES)
    .default(0)
    .describe('The most pictures that an edit may start from; 0: it makes none.'),
  mask: z.boolean().default(false).describe('An edit may name the part of the picture to change.'),
  partial_images: whole(0, MAX_PARTIAL_IMAGES)
    .default(0)
    .describe(
      'The most pictures that a stream may show of each image before it is finished; needs a partial_image price, or one by the token.',
    ),
});

export type AbilitiesEntry = z.output<typeof imageAbilities>;

function isNotEmpty(map: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(map).length > 0;
}

/** The sizes that are named one by one: the list, or the default of a range. */
export function namedSizes(sizes: SizesEntry | undefined): readonly string[] | undefined {
  return sizes === undefined || isList(sizes) ? sizes : [sizes.default];
}

export function buildRange(sizes: SizesEntry | undefined): SizeRange | undefined {
  if (sizes === undefined || isList(sizes)) return undefined;
  return {
    step: sizes.step,
    minEdge: sizes.min_edge,
    maxEdge: sizes.max_edge,
    maxRatio: sizes.max_ratio ?? MAX_EDGE,
    minPixels: sizes.min_pixels,
    maxPixels: sizes.max_pixels,
  };
}

function isList(sizes: SizesEntry): sizes is string[] {
  return Array.isArray(sizes);
}

/** `qualities` are those that have a price, where the entry names none. */
export function buildAbilities(
  entry: AbilitiesEntry | undefined,
  qualities: readonly string[],
): ImageAbilities | undefined {
  if (!entry) return undefined;
  const quality = entry.quality ?? (qualities.length > 0 ? qualities : undefined);
  const listed = LISTED_FIELDS.map((field) => [field, field === 'quality' ? quality : entry[field]] as const);
  return {
    values: Object.fromEntries(listed.filter(([, given]) => given !== undefined)),
    takes: new Set(FREE_FIELDS.filter((field) => entry[field])),
    maxImages: entry.max_n,
    referenceImages: entry.reference_images,
    mask: entry.mask,
    partialImages: entry.partial_images,
    shapes: shapesOf(entry),
  };
}

export function shapesOf({ aspect_ratio, resolution }: AbilitiesEntry): NamedSize[] {
  const ratios = (map: Readonly<Record<string, string>>, more: Partial<NamedSize> = {}): NamedSize[] =>
    Object.entries(map).map(([aspectRatio, one]) => ({ ...more, aspectRatio, size: one }));
  return [
    ...(aspect_ratio ? ratios(aspect_ratio) : []),
    ...Object.entries(resolution ?? {}).flatMap(([name, given]): NamedSize[] =>
      typeof given === 'string' ? [{ resolution: name, size: given }] : ratios(given, { resolution: name }),
    ),
  ];
}

/** A size may differ from its ratio by what its edges are rounded to; more is a slip. */
const RATIO_TOLERANCE = 0.05;

export function hasRatio({ size: given, aspectRatio }: NamedSize): boolean {
  if (aspectRatio === undefined) return true;
  const [width, height] = edgesOf(given);
  const [across = 1, down = 1] = aspectRatio.split(':').map(Number);
  return Math.abs((width / height) * (down / across) - 1) <= RATIO_TOLERANCE;
}

/** What is wrong with a range of sizes by itself. */
export function rangeMistake(sizes: SizesEntry | undefined): string | undefined {
  const range = buildRange(sizes);
  if (!range || sizes === undefined || isList(sizes)) return undefined;
  return isInRange(sizes.default, range)
    ? undefined
    : `has a default of ${sizes.default}, which is not in the range`;
}
