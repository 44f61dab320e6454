import type { Model } from './catalog.ts';
import { MAX_IMAGES, type FreeField, type NamedSize, type ListedField } from './image-abilities.ts';

/** What an image model takes, for lists of models; the names are those of a request. `null`: its backend decides. */
interface AbilitiesView
  extends Record<ListedField, readonly string[] | null>, Record<FreeField, boolean | null> {
  readonly sizes: readonly string[];
  readonly size_range: SizeRangeView | null;
  /** What an aspect ratio, a resolution, or both together stand for. */
  readonly shapes: readonly ShapeView[];
  readonly max_n: number;
  readonly reference_images: number | null;
  readonly mask: boolean | null;
  readonly partial_images: number | null;
}

interface SizeRangeView {
  readonly step: number;
  readonly min_edge: number;
  readonly max_edge: number;
  readonly max_ratio: number;
  readonly min_pixels: number;
  readonly max_pixels: number;
}

interface ShapeView {
  readonly size: string;
  readonly aspect_ratio: string | null;
  readonly resolution: string | null;
}

/** `undefined` for a model that makes no images. */
export function abilitiesView(model: Model): AbilitiesView | undefined {
  const { sizes, sizeRange: range, abilities } = model;
  if (sizes.length === 0) return undefined;
  const listed = (field: ListedField) => (abilities ? [...(abilities.values[field] ?? [])] : null);
  const free = (field: FreeField) => (abilities ? abilities.takes.has(field) : null);
  return {
    sizes: [...sizes],
    size_range: range
      ? {
          step: range.step,
          min_edge: range.minEdge,
          max_edge: range.maxEdge,
          max_ratio: range.maxRatio,
          min_pixels: range.minPixels,
          max_pixels: range.maxPixels,
        }
      : null,
    shapes: (abilities?.shapes ?? []).map(shapeView),
    max_n: abilities?.maxImages ?? MAX_IMAGES,
    quality: listed('quality'),
    background: listed('background'),
    output_format: listed('output_format'),
    output_compression: free('output_compression'),
    moderation: listed('moderation'),
    style: listed('style'),
    seed: free('seed'),
    negative_prompt: free('negative_prompt'),
    reference_images: abilities?.referenceImages ?? null,
    mask: abilities?.mask ?? null,
    partial_images: abilities?.partialImages ?? null,
  };
}

function shapeView({ size, aspectRatio, resolution }: NamedSize): ShapeView {
  return { size, aspect_ratio: aspectRatio ?? null, resolution: resolution ?? null };
}
