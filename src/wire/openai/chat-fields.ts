import { CAP_SYNONYMS, CHOICES_SYNONYMS, NESTED_REQUESTS } from '../../std/held-fields.ts';
import {
  fieldRules,
  pricedUnless,
  refusedBecause,
  refusedUnless,
  type CostOf,
  type FieldRules,
} from '../field-table.ts';

const BY_CATALOG = 'the catalog decides which model and backend serve a request.';
const SEARCHES = 'a search by the backend has no price here. Offer a function that searches instead.';

/** Chat completions of OpenAI (https://platform.openai.com/docs/api-reference/chat/create) and of servers like it. */
export const CHAT_FIELDS: FieldRules = fieldRules({
  harmless: [
    // What is asked, and how the answer arrives. Tools are checked one by one in the request's schema.
    'model messages stream stream_options user metadata store',
    'tools tool_choice parallel_tool_calls functions function_call',
    // Both caps and n: the hold is computed from them.
    'max_tokens max_completion_tokens n',
    // Sampling, OpenAI's.
    'temperature top_p frequency_penalty presence_penalty seed stop',
    'logit_bias logprobs top_logprobs',
    // Sampling of vLLM, SGLang, llama.cpp, Ollama and OpenRouter.
    'top_k top_a min_p typical_p tfs_z repetition_penalty repeat_penalty repeat_last_n',
    'mirostat mirostat_tau mirostat_eta dynatemp_range dynatemp_exponent length_penalty',
    'dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers',
    'xtc_probability xtc_threshold samplers bad_words stop_token_ids',
    'include_stop_str_in_output skip_special_tokens spaces_between_special_tokens',
    // The format of the answer; from guided_json on those of vLLM, SGLang and llama.cpp.
    'response_format verbosity guided_json guided_regex guided_choice guided_grammar',
    'structured_outputs grammar',
    // Thinking: within the output cap, and charged as output.
    'reasoning_effort reasoning include_reasoning reasoning_format reasoning_split',
    'thinking enable_thinking thinking_budget chat_template_kwargs',
    'add_generation_prompt continue_final_message',
    // Caches and abuse: identifiers.
    'prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier',
    'cache_prompt cache_salt session_id',
    // OpenRouter and LiteLLM: usage in the answer.
    'usage',
  ],
  costly: {
    service_tier: pricedUnless(['auto', 'default', 'standard'], (tier) => `service_tiers.${tier}`),
    modalities: costOfModalities,
    audio: () => ({ price: 'audio_output' }),
    web_search_options: () => ({ price: 'tool_calls.web_search' }),
    // Tokens of a prediction that the model does not use are billed as output, beyond the cap.
    prediction: refusedBecause('predicted outputs are billed beyond the output cap and have no price here.'),
    // Other names of searches: OpenRouter, xAI, Perplexity, Alibaba, Z.ai.
    plugins: refusedBecause(SEARCHES),
    search_parameters: refusedBecause(SEARCHES),
    enable_search: refusedUnless([false], SEARCHES),
    search_options: refusedBecause(SEARCHES),
    web_search: refusedUnless([false], SEARCHES),
    // OpenRouter, LiteLLM: other models and providers than the ones that are priced.
    models: refusedBecause(BY_CATALOG),
    fallbacks: refusedBecause(BY_CATALOG),
    route: refusedBecause(BY_CATALOG),
    provider: refusedBecause(BY_CATALOG),
    preset: refusedBecause(BY_CATALOG),
  },
  synonyms: {
    ...Object.fromEntries(CAP_SYNONYMS.map((field) => [field, 'max_tokens'])),
    ...Object.fromEntries(CHOICES_SYNONYMS.map((field) => [field, 'n'])),
    ...Object.fromEntries(NESTED_REQUESTS.map((field) => [field, 'the fields of the request itself'])),
  },
});

function costOfModalities(value: unknown): ReturnType<CostOf> {
  if (!Array.isArray(value)) return { refusal: 'it must be a list.' };
  const costly = value.filter((kind) => kind !== 'text');
  if (costly.length === 0) return undefined;
  return costly.every((kind) => kind === 'audio')
    ? { price: 'audio_output' }
    : { refusal: 'only text and audio have a price here.' };
}
