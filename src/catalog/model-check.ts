import type { z } from 'zod';
import type { PriceEntry } from './price-schema.ts';

interface ModelShape extends Omit<PriceEntry, 'reasoning'> {
  readonly reasoning: boolean | 'hidden' | number;
  readonly sizes?: readonly string[] | undefined;
  readonly context: number;
  readonly max_output?: number | undefined;
  readonly free: boolean;
  readonly cap_field?: string | undefined;
  readonly image_format?: string | undefined;
}

/** Rules between a model's fields: above all, that it has a price, so that nothing is free by accident. */
export function checkModel(model: ModelShape, context: z.RefinementCtx): void {
  const refuse: Refuse = (key, message) =>
    context.addIssue({ code: 'custom', path: key === '' ? [] : [key], message });
  const tokens = isPricedByToken(model);
  if (tokens && model.image !== undefined)
    refuse('image', 'has a price per image and per token; keep one of them');
  else if (model.free) checkFree(model, tokens, refuse);
  else if (tokens) checkTokenPrice(model, refuse);
  else if (model.image !== undefined) checkImagePrice(model.image, model.sizes, refuse);
  else refuse('', NO_PRICE);
  checkForm(model, refuse);
  if (new Set(model.sizes).size !== (model.sizes?.length ?? 0)) refuse('sizes', 'names a size twice');
  if (model.max_output !== undefined && model.max_output > model.context) {
    refuse('max_output', `must not exceed the context of ${model.context} tokens`);
  }
}

/** Any price that only makes sense for tokens. */
function isPricedByToken(model: ModelShape): boolean {
  return typeof model.reasoning === 'number' || TOKEN_KEYS.some((key) => model[key] !== undefined);
}

const TOKEN_KEYS = [
  'input',
  'cached_input',
  'cache_write',
  'cache_write_1h',
  'audio_input',
  'image_input',
  'output',
  'audio_output',
  'image_output',
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

function checkImagePrice(
  image: NonNullable<ModelShape['image']>,
  sizes: ModelShape['sizes'],
  refuse: Refuse,
): void {
  const prices = imageAmounts(image);
  const named = Object.keys(prices).filter((key) => key !== 'default');
  if (sizes === undefined && named.length === 0)
    refuse('sizes', 'is missing; name the sizes, e.g. [1024x1024, 512x512]');
  if (Object.values(prices).some((amounts) => amounts.length === 0))
    refuse('image', 'has a size without a price for any quality');
  if (Object.values(prices).flat().includes(0))
    refuse('image', 'makes images free; say free: true instead if that is meant');
  if (sizes === undefined) return;
  const unknown = named.filter((size) => !sizes.includes(size));
  if (unknown.length > 0) refuse('image', `has a price for ${unknown.join(', ')}, which is not in sizes`);
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
