/** What an image model takes beside a prompt and a size. What is absent from a declared list is refused. */
export interface ImageAbilities {
  /** Fields with a closed list of values, each non-empty. */
  readonly values: Readonly<Partial<Record<ListedField, readonly string[]>>>;
  /** Fields that it takes whatever their value. */
  readonly takes: ReadonlySet<FreeField>;
  readonly maxImages: number;
  readonly referenceImages: number;
  readonly mask: boolean;
  /** The most pictures that a stream shows of each image before it is finished. */
  readonly partialImages: number;
  /** The sizes that an aspect ratio or a resolution stands for; the first is the default of either. */
  readonly shapes: readonly NamedSize[];
}

export const LISTED_FIELDS = ['quality', 'background', 'output_format', 'moderation', 'style'] as const;
export type ListedField = (typeof LISTED_FIELDS)[number];

export const FREE_FIELDS = ['output_compression', 'seed', 'negative_prompt'] as const;
export type FreeField = (typeof FREE_FIELDS)[number];

/** A size by other names, which some backends take instead of it. */
export interface NamedSize {
  readonly size: string;
  readonly aspectRatio?: string | undefined;
  readonly resolution?: string | undefined;
}

/** Sizes that are not listed one by one. */
export interface SizeRange {
  /** Both edges are multiples of it. */
  readonly step: number;
  readonly minEdge: number;
  readonly maxEdge: number;
  /** The longer edge is at most this many times the shorter one. */
  readonly maxRatio: number;
  readonly minPixels: number;
  readonly maxPixels: number;
}

interface SizedModel {
  readonly sizes: readonly string[];
  readonly sizeRange?: SizeRange | undefined;
}

export function takesSize({ sizes, sizeRange }: SizedModel, size: string): boolean {
  return sizes.includes(size) || (sizeRange !== undefined && isInRange(size, sizeRange));
}

export function isInRange(size: string, range: SizeRange): boolean {
  if (!/^[1-9]\d{1,3}x[1-9]\d{1,3}$/.test(size)) return false;
  const [width, height] = edgesOf(size);
  const edges = [width, height];
  return (
    edges.every((edge) => edge % range.step === 0 && edge >= range.minEdge && edge <= range.maxEdge) &&
    Math.max(...edges) <= range.maxRatio * Math.min(...edges) &&
    width * height >= range.minPixels &&
    width * height <= range.maxPixels
  );
}

export function edgesOf(size: string): [width: number, height: number] {
  const [width = 0, height = 0] = size.split('x').map(Number);
  return [width, height];
}

/** The sizes that a model has, for the message about one that it has not. */
export function sizesText({ sizes, sizeRange }: SizedModel): string {
  const listed = `one of ${sizes.join(', ')}`;
  return sizeRange ? `${listed}, or ${rangeText(sizeRange)}` : listed;
}

export function rangeText({ step, minEdge, maxEdge, maxRatio, minPixels, maxPixels }: SizeRange): string {
  return [
    `<width>x<height> with edges from ${minEdge} to ${maxEdge}`,
    ...(step > 1 ? [`in multiples of ${step}`] : []),
    ...(maxRatio < MAX_EDGE ? [`a ratio of at most ${maxRatio}:1`] : []),
    ...(minPixels > 1 ? [`at least ${minPixels} pixels`] : []),
    ...(maxPixels < Math.min(MAX_IMAGE_PIXELS, maxEdge * maxEdge) ? [`at most ${maxPixels} pixels`] : []),
  ].join(', ');
}

/** The longest edge that a size can have. */
export const MAX_EDGE = 9_999;
/** A larger image is not decoded, at four bytes for each pixel, and so neither delivered nor sold. */
export const MAX_IMAGE_PIXELS = 50_000_000;
export const MAX_IMAGES = 10;
export const MAX_REFERENCE_IMAGES = 16;
export const MAX_PARTIAL_IMAGES = 3;

/** In one line, for previews; `undefined` where the catalog does not say. */
export function abilitiesText(abilities: ImageAbilities | undefined): string | undefined {
  if (!abilities) return undefined;
  const { values, takes, maxImages, referenceImages, mask, partialImages, shapes } = abilities;
  const names = shapes.map(
    ({ size, aspectRatio, resolution }) =>
      `${[resolution, aspectRatio].filter((name) => name !== undefined).join(' ')} = ${size}`,
  );
  return [
    `up to ${maxImages} images`,
    ...LISTED_FIELDS.flatMap((field) => (values[field] ? [`${field} ${values[field].join(' or ')}`] : [])),
    ...takes,
    ...(referenceImages > 0 ? [`${referenceImages} reference images`] : []),
    ...(mask ? ['mask'] : []),
    ...(partialImages > 0 ? [`${partialImages} partial images`] : []),
    ...names,
  ].join(', ');
}
