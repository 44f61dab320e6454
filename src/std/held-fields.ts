/**
 * The request fields that a hold is computed from, and other names that servers have for them. A backend gets the
 * value that the hold covers, under the name it knows; another name of it would let a request use more than was held.
 */

/** The output cap. */
export const CAP_SYNONYMS = [
  'n_predict', // llama.cpp
  'num_predict', // Ollama
  'max_new_tokens', // Transformers, Text Generation Inference
  'max_output_tokens', // Gemini
  'max_length',
  'max_gen_len',
  'max_gen_toks',
  'max_tokens_to_sample', // Anthropic's older API
  'tokens_to_generate',
  'min_tokens', // vLLM: forces output up to it
  'min_new_tokens',
  'min_length',
] as const;

/** The number of answers that are generated, of which some servers return only the best. */
export const CHOICES_SYNONYMS = [
  'best_of',
  'num_return_sequences',
  'num_completions',
  'candidate_count',
  'use_beam_search',
  'num_beams',
  'beam_width',
] as const;

/** The number of images. */
export const IMAGE_COUNT_SYNONYMS = [
  'num_images',
  'n_images',
  'num_outputs',
  'number_of_images',
  'num_images_per_prompt',
  'batch_size',
  'batch_count',
  'n_iter',
  'samples',
] as const;

/** The size of an image. */
export const IMAGE_SIZE_SYNONYMS = ['width', 'height', 'image_size', 'megapixels'] as const;

/** Names of a size that a model may have in the catalog; its backend gets the size. */
const IMAGE_SHAPES = ['aspect_ratio', 'resolution'] as const;

/** Objects whose fields some servers read as if they were those of the request: they may hold any of the above. */
export const NESTED_REQUESTS = [
  'options', // Ollama
  'parameters', // Text Generation Inference
  'generation_config', // Gemini
  'sampling_params', // SGLang
  'extra_body', // LiteLLM
] as const;

/** Fields that no setting of the operator can pass on as the client wrote them. */
export const NEVER_PASSED: ReadonlySet<string> = new Set<string>([
  'model',
  'stream',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'size',
  'betas',
  ...CAP_SYNONYMS,
  ...CHOICES_SYNONYMS,
  ...IMAGE_COUNT_SYNONYMS,
  ...IMAGE_SIZE_SYNONYMS,
  ...IMAGE_SHAPES,
  ...NESTED_REQUESTS,
]);
