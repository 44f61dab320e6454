import { z } from 'zod';
import { IMAGE_COUNT_SYNONYMS, IMAGE_SIZE_SYNONYMS } from '../../std/held-fields.ts';
import {
  fieldRules,
  leftOutUnlessPriced,
  pricedUnless,
  refusedBecause,
  type FieldRules,
} from '../field-table.ts';

export const imageRequestSchema = z.looseObject({
  model: z.string().min(1).max(256),
  prompt: z.string().min(1).max(32_000),
  n: z.number().int().min(1).max(10).nullish(),
  size: z
    .string()
    .regex(/^(\d{1,5}x\d{1,5}|auto)$/, { error: 'size must look like 1024x1024' })
    .nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish(),
  quality: z.string().max(64).nullish(),
  style: z.string().max(64).nullish(),
  background: z.string().max(64).nullish(),
  output_format: z.string().max(64).nullish(),
  output_compression: z.number().int().min(0).max(100).nullish(),
  moderation: z.string().max(64).nullish(),
  seed: z.number().int().nullish(),
  negative_prompt: z.string().max(32_000).nullish(),
  stream: z.boolean().nullish().describe('The images as server-sent events'),
  partial_images: z
    .number()
    .int()
    .min(0)
    .max(3)
    .nullish()
    .describe(
      'With stream: at most how many partial images come before each image is finished. None where the model has no price for them; the field is then named in x-tollgate-dropped.',
    ),
  aspect_ratio: z.string().max(16).nullish().describe('In place of size, where the model lists it: 16:9'),
  resolution: z.string().max(32).nullish().describe('In place of size, where the model lists it: 2K'),
  strip_metadata: z
    .boolean()
    .nullish()
    .describe('Without texts, Exif, XMP and certificates of origin; pixels and colours stay as they are'),
  user: z.string().max(512).nullish(),
});

type Parsed = z.infer<typeof imageRequestSchema>;

/** After parsing, a field that was null is absent. `image` and `mask` come with an edit. */
export type ImageRequestWith<Picture> = { [K in keyof Parsed]: Exclude<Parsed[K], null> } & {
  image?: readonly Picture[] | undefined;
  mask?: Picture | undefined;
};

/** The request as a backend gets it. */
export type ImageRequest = ImageRequestWith<UploadedImage>;

export interface UploadedImage {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mime: string;
}

export interface ImageResponse {
  created: number;
  data: readonly { url?: string; b64_json?: string; revised_prompt?: string }[];
  usage?: unknown;
}

/** Images of OpenAI (https://platform.openai.com/docs/api-reference/images/create) and of servers like it. */
export const IMAGE_FIELDS: FieldRules = fieldRules({
  harmless: [
    'model prompt n size aspect_ratio resolution response_format user stream',
    // How the picture looks and is encoded; the price of a GPT image depends on size and quality alone.
    'style background output_format output_compression moderation strip_metadata',
    'seed negative_prompt guidance_scale guidance prompt_upsampling',
  ],
  costly: {
    // Both are what a backend does without the field.
    quality: pricedUnless(['auto', 'standard'], (quality) => `image.${quality}`),
    input_fidelity: pricedUnless(['low'], () => 'image_input'),
    // "The final image may be sent before the full number of partial images are generated" (reference): fewer are allowed.
    partial_images: leftOutUnlessPriced([0], 'partial_image'),
    // Billed by the step at some servers.
    steps: refusedBecause('the number of steps has no price here.'),
    num_inference_steps: refusedBecause('the number of steps has no price here.'),
  },
  synonyms: {
    ...Object.fromEntries(IMAGE_COUNT_SYNONYMS.map((field) => [field, 'n'])),
    ...Object.fromEntries(IMAGE_SIZE_SYNONYMS.map((field) => [field, 'size'])),
  },
});
