import type { ImageAbilityList, ModelItem } from '../../../lib/answers.ts';

/** What the user has chosen, as typed. It stays when the model changes; options that a model lacks are left out. */
export interface ImageDraft {
  /** The model, as `choiceOf` writes it. */
  readonly choice: string;
  readonly prompt: string;
  /** The values by the API's field names; an absent or empty one means the model's default. */
  readonly values: Readonly<Partial<Record<DraftField, string>>>;
}

export type DraftField =
  | ListField
  | NumberField
  | 'size'
  /** For a size that is not listed. */
  | 'width'
  | 'height'
  | 'negative_prompt'
  | 'n'
  | 'partial_images';
type ListField =
  | 'aspect_ratio'
  | 'resolution'
  | 'quality'
  | 'background'
  | 'output_format'
  | 'moderation'
  | 'style';
type NumberField = 'output_compression' | 'seed';

/** The body of an image request, in the words of the public API. */
export interface ImageBody {
  readonly endpoint: string;
  readonly model: string;
  readonly prompt: string;
  readonly [field: string]: string | number | boolean | readonly string[];
}

export const EMPTY_IMAGE_DRAFT: ImageDraft = { choice: '', prompt: '', values: {} };
export const CUSTOM_SIZE = 'custom';

/** Every answer is available in these formats: what a model makes is converted. */
const CONVERTED = ['png', 'jpeg', 'webp'];
const COMPRESSED = new Set(['jpeg', 'webp']);
const MOST_IMAGES = 10;
/** Seeds of all backends fit into 31 bits. */
const SEEDS = 2 ** 31;

/** The options of a model; those that it lacks are absent. */
interface ImageControls {
  readonly sizes: readonly string[];
  readonly range: ImageAbilityList['size_range'];
  readonly lists: readonly { readonly field: ListField; readonly values: readonly string[] }[];
  readonly seed: boolean;
  readonly negativePrompt: boolean;
  /** Whether the compression can be set for the chosen format. */
  readonly compression: boolean;
  readonly mostImages: number;
  readonly mostPartials: number;
  readonly mostReferences: number;
  readonly mask: boolean;
}

export function controlsOf(model: ModelItem, values: ImageDraft['values'] = {}): ImageControls {
  const { abilities } = model;
  const names = (key: 'aspect_ratio' | 'resolution'): string[] => [
    ...new Set(abilities?.shapes.flatMap((shape) => shape[key] ?? []) ?? []),
  ];
  const formats = abilities?.output_format;
  const all: [ListField, readonly string[]][] = [
    ['aspect_ratio', names('aspect_ratio')],
    ['resolution', names('resolution')],
    // A quality that has a price can be chosen, whatever the catalog says about abilities.
    ['quality', abilities?.quality ?? pricedQualities(model)],
    ['style', abilities?.style ?? []],
    ['background', abilities?.background ?? []],
    ['moderation', abilities?.moderation ?? []],
    ['output_format', formats ? [...new Set([...formats, ...CONVERTED])] : []],
  ];
  const format = values.output_format ?? formats?.[0] ?? '';
  return {
    sizes: model.sizes,
    range: abilities?.size_range ?? null,
    lists: all.flatMap(([field, known]) => (known.length > 1 ? [{ field, values: known }] : [])),
    seed: abilities?.seed === true,
    negativePrompt: abilities?.negative_prompt === true,
    compression: abilities?.output_compression === true && COMPRESSED.has(format),
    mostImages: Math.min(abilities?.max_n ?? MOST_IMAGES, MOST_IMAGES),
    mostPartials: abilities?.partial_images ?? 0,
    // The backend decides if the catalog does not.
    mostReferences: abilities?.reference_images ?? (abilities?.mask === null ? 1 : 0),
    mask: abilities?.mask !== false,
  };
}

function pricedQualities({ price }: ModelItem): string[] {
  return [...new Set(price.others.flatMap(({ quality }) => quality ?? []))];
}

/** The size of a request: as chosen, as given by its aspect ratio and resolution, or the model's first. */
export function sizeOf({ values }: Pick<ImageDraft, 'values'>, model: ModelItem): string {
  const { aspect_ratio, resolution, size, width, height } = fitting(values, model);
  if (aspect_ratio || resolution) {
    const shape = model.abilities?.shapes.find(
      (one) =>
        (!aspect_ratio || one.aspect_ratio === aspect_ratio) &&
        (!resolution || one.resolution === resolution),
    );
    return shape?.size ?? '';
  }
  if (size === CUSTOM_SIZE) return `${width ?? ''}x${height ?? ''}`;
  return size ?? model.sizes[0] ?? '';
}

function fitting(values: ImageDraft['values'], model: ModelItem): ImageDraft['values'] {
  const controls = controlsOf(model, values);
  const kept: Partial<Record<DraftField, string>> = {};
  for (const { field, values: known } of controls.lists) {
    const value = values[field];
    if (value && known.includes(value)) kept[field] = value;
  }
  const { size, width, height, seed, negative_prompt, output_compression } = values;
  if (size && controls.sizes.includes(size)) kept.size = size;
  if (size === CUSTOM_SIZE && controls.range)
    Object.assign(kept, { size, width: width ?? '', height: height ?? '' });
  if (controls.seed && seed) kept.seed = seed;
  if (controls.negativePrompt && negative_prompt?.trim()) kept.negative_prompt = negative_prompt;
  if (controls.compression && output_compression) kept.output_compression = output_compression;
  return kept;
}

/** The request without pictures. */
export function bodyOf(draft: ImageDraft, model: ModelItem): ImageBody {
  const {
    size: _,
    width: __,
    height: ___,
    seed,
    output_compression,
    ...texts
  } = fitting(draft.values, model);
  const { mostImages, mostPartials } = controlsOf(model, draft.values);
  const isNamed = texts.aspect_ratio !== undefined || texts.resolution !== undefined;
  const partials = bounded(draft.values.partial_images, 0, mostPartials);
  return {
    endpoint: model.endpoint,
    model: model.model,
    prompt: draft.prompt,
    ...(isNamed ? {} : { size: sizeOf(draft, model) }),
    ...texts,
    ...(seed === undefined ? {} : { seed: Math.trunc(Number(seed)) || 0 }),
    ...(output_compression === undefined ? {} : { output_compression: bounded(output_compression, 0, 100) }),
    n: bounded(draft.values.n, 1, mostImages),
    ...(partials > 0 ? { partial_images: partials } : {}),
  };
}

/** A result can be made again only if its seed is known, so one is chosen if the user left it open. */
export function withSeed(body: ImageBody, model: ModelItem, random: () => number = Math.random): ImageBody {
  if (!controlsOf(model).seed || body['seed'] !== undefined) return body;
  return { ...body, seed: Math.floor(random() * SEEDS) };
}

export function draftOf({ endpoint, model, prompt, ...said }: ImageBody): ImageDraft {
  const values = Object.fromEntries(
    Object.entries(said).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
    ),
  );
  return { choice: `${endpoint} ${model}`, prompt, values };
}

/** Checked as far as the browser can before the server does; undefined if the size is valid. */
export function wrongSize(
  draft: ImageDraft,
  model: ModelItem,
): 'step' | 'edge' | 'ratio' | 'pixels' | undefined {
  const range = model.abilities?.size_range;
  if (draft.values.size !== CUSTOM_SIZE || !range) return undefined;
  const edges = [Number(draft.values.width), Number(draft.values.height)];
  const [long, short] = [Math.max(...edges), Math.min(...edges)];
  if (!(short >= range.min_edge && long <= range.max_edge)) return 'edge';
  if (edges.some((edge) => edge % range.step !== 0)) return 'step';
  if (long > range.max_ratio * short) return 'ratio';
  const pixels = long * short;
  return pixels < range.min_pixels || pixels > range.max_pixels ? 'pixels' : undefined;
}

function bounded(text: string | undefined, least: number, most: number): number {
  const value = Math.trunc(Number(text ?? least));
  return Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : least;
}
