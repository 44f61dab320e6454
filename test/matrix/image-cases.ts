import { StrictBfl } from '../providers/bfl.ts';
import { StrictFal } from '../providers/fal.ts';
import { StrictGeminiImages } from '../providers/gemini-images.ts';
import { PICTURE_PATH, type ImageOutcome, type ImageStandIn } from '../providers/image-stand-in.ts';
import { StrictOpenAiImages, StrictTogetherImages, StrictXaiImages } from '../providers/openai-images.ts';
import { StrictReplicate } from '../providers/replicate.ts';
import { StrictStability } from '../providers/stability.ts';

/** A backend of the matrix: how it answers, and how a catalog names it. */
export interface ImageBackend {
  readonly name: string;
  readonly answers: 'url' | 'b64' | 'raw bytes' | 'job';
  readonly model: string;
  start(): ImageStandIn;
  /** The upstream's entry but for address and key. */
  readonly entry: string;
  readonly modelEntry?: string;
}

const OWN_LINKS = `options: { image_path: ${PICTURE_PATH} }`;

export const IMAGE_BACKENDS: readonly ImageBackend[] = [
  {
    name: 'openai_gpt_image',
    answers: 'b64',
    model: 'gpt-image-2',
    start: () => new StrictOpenAiImages(),
    entry: 'kind: openai',
  },
  {
    name: 'openai_dalle',
    answers: 'url',
    model: 'dall-e-2',
    start: () => new StrictOpenAiImages(),
    entry: `kind: openai, ${OWN_LINKS}`,
    modelEntry: ', image_format: default',
  },
  {
    name: 'gemini',
    answers: 'b64',
    model: 'gemini-2.5-flash-image',
    start: () => new StrictGeminiImages(),
    entry: 'kind: google',
  },
  {
    name: 'imagen',
    answers: 'b64',
    model: 'imagen-4.0-generate-001',
    start: () => new StrictGeminiImages(),
    entry: 'kind: google',
  },
  {
    name: 'bfl',
    answers: 'job',
    model: 'flux-pro-1.1',
    start: () => new StrictBfl(),
    entry: `kind: bfl, ${OWN_LINKS}`,
  },
  {
    name: 'fal',
    answers: 'job',
    model: 'fal-ai/flux/dev',
    start: () => new StrictFal(),
    entry: `kind: fal, ${OWN_LINKS}`,
  },
  {
    name: 'replicate',
    answers: 'job',
    model: 'black-forest-labs/flux-dev',
    start: () => new StrictReplicate(),
    entry: `kind: replicate, ${OWN_LINKS}`,
  },
  {
    name: 'stability',
    answers: 'raw bytes',
    model: 'stable-image-core',
    start: () => new StrictStability(),
    entry: 'kind: stability',
  },
  {
    name: 'xai',
    answers: 'b64',
    model: 'grok-imagine-image',
    start: () => new StrictXaiImages(),
    entry: 'kind: openai, preset: xai',
  },
  {
    name: 'together',
    answers: 'b64',
    model: 'black-forest-labs/FLUX.1-schnell',
    start: () => new StrictTogetherImages(),
    entry: 'kind: openai, preset: together',
  },
];

export interface ImageCase {
  readonly backend: string;
  readonly wish: 'url' | 'b64_json';
  readonly count: 1 | 4;
  readonly delivered: 'all' | 'some' | 'none';
  /** What becomes of those that are not delivered. */
  readonly cause: ImageOutcome;
  /** The format that the client wants; none: whatever the backend makes. */
  readonly format: 'none' | 'webp';
  /** How the client waits for them. */
  readonly way: ImageWay;
}

export type ImageWay = (typeof WAYS)[number];
const WAYS = ['plain', 'streamed', 'async'] as const;

const CAUSES = ['refused', 'failed', 'cut', 'gone'] as const;

/** Every case; one image cannot be delivered in part, and where all are delivered there is no cause. */
export function imageCases(): ImageCase[] {
  return IMAGE_BACKENDS.flatMap(({ name: backend }) =>
    (['url', 'b64_json'] as const).flatMap((wish) =>
      ([1, 4] as const).flatMap((count) =>
        (['all', 'some', 'none'] as const)
          .filter((delivered) => count === 4 || delivered !== 'some')
          .flatMap((delivered) =>
            (delivered === 'all' ? (['made'] as const) : CAUSES).flatMap((cause) =>
              (['none', 'webp'] as const).flatMap((format) =>
                WAYS.map((way) => ({ backend, wish, count, delivered, cause, format, way })),
              ),
            ),
          ),
      ),
    ),
  );
}

/** How the images of a case end, in order. */
export function outcomesOf({ count, delivered, cause }: ImageCase): ImageOutcome[] {
  return Array.from({ length: count }, (_, index) =>
    delivered === 'all' || (delivered === 'some' && index % 2 === 0) ? 'made' : cause,
  );
}

/** Every pair of two properties' values that the case has. */
export function imagePairs(one: ImageCase): string[] {
  const values = Object.entries(one).map(([key, value]) => `${key}=${value}`);
  return values.flatMap((first, index) => values.slice(index + 1).map((second) => `${first} ${second}`));
}

/** So few cases that each pair of values is in one of them. */
export function imagePairwise(all: readonly ImageCase[]): ImageCase[] {
  const open = new Set(all.flatMap(imagePairs));
  const chosen: ImageCase[] = [];
  while (open.size > 0) {
    const gain = (one: ImageCase): number => imagePairs(one).filter((pair) => open.has(pair)).length;
    const best = all.reduce((found, one) => (gain(one) > gain(found) ? one : found));
    for (const pair of imagePairs(best)) open.delete(pair);
    chosen.push(best);
  }
  return chosen;
}
