import { fieldRules, type FieldRules } from '../field-table.ts';

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
