import { IMAGE_COUNT_SYNONYMS, IMAGE_SIZE_SYNONYMS } from '../../std/held-fields.ts';
import { fieldRules, pricedUnless, refusedBecause, type FieldRules } from '../field-table.ts';

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
    partial_images: pricedUnless([0], () => 'partial_image'),
    // Billed by the step at some servers.
    steps: refusedBecause('the number of steps has no price here.'),
    num_inference_steps: refusedBecause('the number of steps has no price here.'),
  },
  synonyms: {
    ...Object.fromEntries(IMAGE_COUNT_SYNONYMS.map((field) => [field, 'n'])),
    ...Object.fromEntries(IMAGE_SIZE_SYNONYMS.map((field) => [field, 'size'])),
  },
});
