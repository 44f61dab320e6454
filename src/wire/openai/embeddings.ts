import { z } from 'zod';
import { fieldRules, type FieldRules } from '../field-table.ts';

export const embeddingRequestSchema = z.looseObject({
  model: z.string().min(1).max(256),
  input: z.union([
    z.string().min(1),
    z.array(z.string()).min(1).max(2_048),
    z.array(z.number().int().min(0)).min(1).max(1_000_000),
    z
      .array(z.array(z.number().int().min(0)).min(1))
      .min(1)
      .max(2_048),
  ]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.number().int().min(1).max(100_000).nullish(),
  user: z.string().max(512).nullish(),
});

type Parsed = z.infer<typeof embeddingRequestSchema>;

/** After parsing, a field that was null is absent. */
export type EmbeddingRequest = { [K in keyof Parsed]: Exclude<Parsed[K], null> };

/**
 * Embeddings of OpenAI (https://platform.openai.com/docs/api-reference/embeddings/create) and of servers like it. All
 * that is embedded is in `input`: `messages`, which vLLM also takes, would not be counted.
 */
export const EMBEDDING_FIELDS: FieldRules = fieldRules({
  harmless: [
    'model input encoding_format dimensions user',
    // Of vLLM, Voyage, Jina, Cohere, Mistral and NVIDIA.
    'input_type truncate truncation truncate_prompt_tokens task normalize normalized',
    'output_dimension output_dtype embedding_type',
  ],
});
