import { isInRange } from './image-abilities.ts';
import {
  buildRange,
  hasRatio,
  namedSizes,
  rangeMistake,
  shapesOf,
  type AbilitiesEntry,
  type SizesEntry,
} from './image-abilities-schema.ts';
import type { PriceEntry } from './price-schema.ts';
import { TOKEN_ROWS } from '../std/price-dimensions.ts';

interface ModelShape extends Omit<PriceEntry, 'reasoning'> {
  readonly reasoning: boolean | 'hidden' | number;
  readonly sizes?: SizesEntry | undefined;
  readonly abilities?: AbilitiesEntry | undefined;
  readonly context?: number | undefined;
  readonly max_output?: number | undefined;
  readonly free: boolean;
  readonly cap_field?: string | undefined;
  readonly image_format?: string | undefined;
}

interface Issues {
  addIssue(issue: {
    readonly code: 'custom';
    readonly path: (keyof ModelShape)[];
    readonly message: string;
  }): void;
}

/** The context of a model for which none is given. */
export const UNKNOWN_CONTEXT = 128_000;

/** Rules between a model's fields: above all, that it has a price, so that nothing is free by accident. */
export function checkModel(model: ModelShape, context: Issues): void {
  const refuse: Refuse = (key, message) =>
    context.addIssue({ code: 'custom', path: key === '' ? [] : [key], message });
  const tokens = isPricedByToken(model);
  for (const key of ['input_image', 'partial_image'] as const)
    if (model[key] !== undefined && model.image === undefined)
      refuse(key, 'goes with a price per image, and this model has none');
  if (tokens && model.image !== undefined)
    refuse('image', 'has a price per image and per token; keep one of them');
  else if (model.free) checkFree(model, tokens, refuse);
  else if (tokens) checkTokenPrice(model, refuse);
  else if (model.image !== undefined) checkImagePrice(model.image, model.sizes, refuse);
  else refuse('', NO_PRICE);
  checkForm(model, refuse);
  checkSizes(model.sizes, refuse);
  if (model.abilities) checkAbilities(model, model.abilities, refuse);
  const { context: room = UNKNOWN_CONTEXT } = model;
  if (model.max_output !== undefined && model.max_output > room)
    refuse('max_output', `must not exceed the context of ${room} tokens`);
}

/** Any price that only makes sense for tokens. */
function isPricedByToken(model: ModelShape): boolean {
  return typeof model.reasoning === 'number' || TOKEN_KEYS.some((key) => model[key] !== undefined);
}

const TOKEN_KEYS = [
  ...TOKEN_ROWS.flatMap(({ key }) => (key === 'reasoning' ? [] : [key])),
  'above',
  'service_tiers',
  'tool_calls',
] as const;

type Refuse = (key: keyof ModelShape | '', message: string) => void;

const NO_PRICE =
  'has no price; give input and output (USD per million tokens) or image (USD per image), or free: true if it is meant to cost nothing';

function checkFree(model: ModelShape, tokens: boolean, refuse: Refuse): void {
  if (tokens || model.image !== undefined || model.request !== undefined)
    refuse('free', 'is true but the model has a price; remove one of them');
}

function checkTokenPrice(model: ModelShape, refuse: Refuse): void {
  if (model.input === undefined) refuse('input', 'is missing; give it in USD per million tokens');
  if (model.output === undefined)
    refuse('output', 'is missing; give it in USD per million tokens (0 for embeddings)');
  if (model.input === 0 && model.output === 0)
    refuse('input', 'makes the model free; say free: true instead if that is meant');
  if (model.sizes !== undefined && model.image_output === undefined)
    refuse('sizes', 'is for image models; this one is priced by the token and has no image_output');
}

/** Free models with sizes make images, as in `buildPrice`. */
function checkForm(model: ModelShape, refuse: Refuse): void {
  const makesImages = model.image !== undefined || model.sizes !== undefined;
  if (makesImages && model.cap_field !== undefined)
    refuse('cap_field', 'is for chat models; this one makes images');
  if (!makesImages && model.image_format !== undefined)
    refuse('image_format', 'is for image models; this one has no image price or sizes');
}

function checkSizes(sizes: ModelShape['sizes'], refuse: Refuse): void {
  const named = namedSizes(sizes) ?? [];
  if (new Set(named).size !== named.length) refuse('sizes', 'names a size twice');
  const mistake = rangeMistake(sizes);
  if (mistake !== undefined) refuse('sizes', mistake);
}

function checkAbilities(model: ModelShape, abilities: AbilitiesEntry, refuse: Refuse): void {
  if (model.image === undefined && model.sizes === undefined)
    return refuse('abilities', 'is for image models; this one has no image price or sizes');
  if (abilities.aspect_ratio && abilities.resolution)
    refuse('abilities', 'has aspect_ratio beside resolution; put the ratios into each resolution');
  if (abilities.mask && abilities.reference_images === 0)
    refuse('abilities', 'has a mask but no reference_images that it could be for');
  const shapes = shapesOf(abilities);
  const sizes = new Set([
    ...(namedSizes(model.sizes) ?? []),
    ...(model.image === undefined ? [] : Object.keys(imageAmounts(model.image))),
  ]);
  const range = buildRange(model.sizes);
  const strange = shapes.find(({ size }) => !sizes.has(size) && !(range && isInRange(size, range)));
  if (strange) refuse('abilities', `names ${strange.size}, which is not in sizes`);
  const askew = shapes.find((shape) => !hasRatio(shape));
  if (askew) refuse('abilities', `says that ${askew.size} is ${askew.aspectRatio}; it is not`);
  if (model.image === undefined) return;
  if (abilities.partial_images > 0 && model.partial_image === undefined)
    refuse('abilities', 'has partial_images without a price; give partial_image');
  const priced = pricedQualities(model.image);
  const unpriced = abilities.quality?.filter((quality) => !priced.includes(quality)) ?? [];
  if (unpriced.length > 0)
    refuse('abilities', `has quality ${unpriced.join(', ')} without a price; give image by size and quality`);
}

/** The qualities that some size has a price for. */
function pricedQualities(image: NonNullable<ModelShape['image']>): string[] {
  if (typeof image === 'number') return [];
  const maps = Object.values(image).flatMap((price) => (typeof price === 'object' ? [price] : []));
  return [...new Set(maps.flatMap((prices) => Object.keys(prices)))];
}

function checkImagePrice(
  image: NonNullable<ModelShape['image']>,
  given: ModelShape['sizes'],
  refuse: Refuse,
): void {
  const sizes = namedSizes(given);
  const range = buildRange(given);
  const prices = imageAmounts(image);
  const named = Object.keys(prices).filter((key) => key !== 'default');
  if (sizes === undefined && named.length === 0)
    refuse('sizes', 'is missing; name the sizes, e.g. [1024x1024, 512x512]');
  if (Object.values(prices).some((amounts) => amounts.length === 0))
    refuse('image', 'has a size without a price for any quality');
  if (Object.values(prices).flat().includes(0))
    refuse('image', 'makes images free; say free: true instead if that is meant');
  if (sizes === undefined) return;
  const unknown = named.filter((size) => !sizes.includes(size) && !(range && isInRange(size, range)));
  if (unknown.length > 0) refuse('image', `has a price for ${unknown.join(', ')}, which is not in sizes`);
  if (range && prices['default'] === undefined)
    return refuse('image', 'has no default price, which sizes of a range need');
  const unpriced = prices['default'] === undefined ? sizes.filter((size) => !named.includes(size)) : [];
  if (unpriced.length > 0) refuse('image', `has no price for ${unpriced.join(', ')}; add it, or a default`);
}

/** Every amount that an image of a size may cost; one per megapixel is that of any size. */
function imageAmounts(image: NonNullable<ModelShape['image']>): Record<string, readonly number[]> {
  if (typeof image === 'number') return { default: [image] };
  const entries = Object.entries(image as Record<string, number | Readonly<Record<string, number>>>);
  return Object.fromEntries(
    entries.map(([size, price]) => [
      size === 'per_megapixel' ? 'default' : size,
      typeof price === 'number' ? [price] : Object.values(price),
    ]),
  );
}
