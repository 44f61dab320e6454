import { z } from 'zod';
import { Fault } from '../../std/fault.ts';
import { CAP_SYNONYMS, CHOICES_SYNONYMS, NESTED_REQUESTS } from '../../std/held-fields.ts';
import { fieldRules, pricedUnless, refusedBecause, type FieldRules } from '../field-table.ts';
import { chatRequestSchema, type ChatRequest } from './chat.ts';

const BY_CATALOG = 'the catalog decides which model and backend serve a request.';

/**
 * OpenAI's older completions (https://platform.openai.com/docs/api-reference/completions/create), which editors and test
 * tools still use. Every backend gets them as a chat of one message.
 */
export const TEXT_COMPLETION_FIELDS: FieldRules = fieldRules({
  harmless: [
    'model prompt stream stream_options user metadata',
    // The hold is computed from max_tokens and n; the others are checked below.
    'max_tokens n best_of echo suffix logprobs',
    'temperature top_p frequency_penalty presence_penalty seed stop logit_bias',
    // Sampling and formats of vLLM, SGLang, llama.cpp and Ollama, as for chats.
    'top_k min_p typical_p repetition_penalty repeat_penalty stop_token_ids',
    'include_stop_str_in_output skip_special_tokens guided_json guided_regex guided_choice guided_grammar',
    'grammar response_format',
    'prompt_cache_key safety_identifier cache_prompt cache_salt session_id',
  ],
  costly: {
    service_tier: pricedUnless(['auto', 'default', 'standard'], (tier) => `service_tiers.${tier}`),
    models: refusedBecause(BY_CATALOG),
    provider: refusedBecause(BY_CATALOG),
  },
  synonyms: {
    max_completion_tokens: 'max_tokens',
    ...Object.fromEntries(CAP_SYNONYMS.map((field) => [field, 'max_tokens'])),
    ...Object.fromEntries(
      CHOICES_SYNONYMS.filter((field) => field !== 'best_of').map((field) => [field, 'n']),
    ),
    ...Object.fromEntries(NESTED_REQUESTS.map((field) => [field, 'the fields of the request itself'])),
  },
});

const promptText = z
  .string({ error: 'must be text; token numbers are not taken' })
  .min(1, 'must not be empty');

const MOST_TOP_LOGPROBS = 5;
const chatFields = chatRequestSchema.shape;

export const textCompletionRequestSchema = z.looseObject({
  model: chatFields.model,
  prompt: z.union([
    promptText,
    z
      .array(promptText)
      .length(1, 'must hold one text; send one request for each prompt, and no token numbers'),
  ]),
  max_tokens: chatFields.max_tokens.describe('16 when absent, as in the reference.'),
  temperature: chatFields.temperature,
  top_p: chatFields.top_p,
  frequency_penalty: chatFields.frequency_penalty,
  presence_penalty: chatFields.presence_penalty,
  n: chatFields.n,
  best_of: chatFields.n.describe('Must be the same as n.'),
  stop: chatFields.stop,
  stream: chatFields.stream,
  stream_options: chatFields.stream_options,
  echo: z.boolean().nullish(),
  suffix: z.string().nullish().describe('Refused, unless it is empty.'),
  logprobs: z.int().min(0).max(MOST_TOP_LOGPROBS).nullish(),
  seed: chatFields.seed,
  user: chatFields.user,
});

type Parsed = z.infer<typeof textCompletionRequestSchema>;

/** After parsing, a field that was null is absent. */
export type TextCompletionRequest = { [K in keyof Parsed]: Exclude<Parsed[K], null> };

const DEFAULT_MAX_TOKENS = 16;

/** The prompt as the only message of a chat. What a chat cannot do is refused with the reason. */
export function textCompletionToChat(request: TextCompletionRequest): ChatRequest {
  refuseUnsupported(request);
  const { prompt: _, suffix: _suffix, echo: _echo, best_of: _bestOf, logprobs, ...same } = request;
  return {
    ...same,
    max_tokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    messages: [{ role: 'user', content: promptOf(request) }],
    ...(logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs }),
  };
}

export function promptOf({ prompt }: TextCompletionRequest): string {
  return typeof prompt === 'string' ? prompt : (prompt[0] ?? '');
}

function refuseUnsupported({ suffix, best_of, n, echo, logprobs }: TextCompletionRequest): void {
  if (suffix !== undefined && suffix !== '')
    throw unsupported('suffix', 'the backends are asked in chats, which only write on at the end.');
  if (best_of !== undefined && best_of !== (n ?? 1))
    throw unsupported('best_of', 'answers that are not shown would be charged. Give it the value of n.');
  if (echo === true && logprobs !== undefined)
    throw unsupported('echo', 'the backends give no logprobs of the prompt. Leave out echo or logprobs.');
}

function unsupported(param: string, reason: string): Fault {
  return new Fault('invalid_field', `${param} is not supported here: ${reason}`, { param });
}
