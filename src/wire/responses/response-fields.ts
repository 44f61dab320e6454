import { fieldRules, pricedUnless, refusedBecause, type FieldRules } from '../field-table.ts';
import { isInnerTool, isKnownTool, type ResponsesRequest } from './request.ts';

/**
 * The Responses API (https://platform.openai.com/docs/api-reference/responses/create). A request is translated into a
 * chat, so only what the translation knows reaches a backend; the others of these fields are kept by nobody or told to
 * nobody.
 */
export const RESPONSES_FIELDS: FieldRules = fieldRules({
  harmless: [
    // What is asked, and how the answer arrives.
    'model input instructions tools tool_choice parallel_tool_calls max_tool_calls',
    'stream stream_options text reasoning metadata user',
    // The cap: the hold is computed from it.
    'max_output_tokens',
    'temperature top_p top_logprobs truncation',
    // Stored state, which the translation refuses with what to do instead.
    'previous_response_id conversation prompt background',
    // What to keep and what to add to the answer: nothing is kept; logprobs are added, and what a backend gives anyway.
    'store include client_metadata',
    'prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier',
  ],
  costly: {
    service_tier: pricedUnless(['auto', 'default', 'standard'], (tier) => `service_tiers.${tier}`),
    context_management: refusedBecause('compaction has no price here. Shorten the input instead.'),
  },
  synonyms: {
    max_tokens: 'max_output_tokens',
    max_completion_tokens: 'max_output_tokens',
    n: 'one request for each answer',
  },
});

/** The tools that OpenAI would run itself: no backend gets them. */
export function providerTools({ tools }: Pick<ResponsesRequest, 'tools'>): string[] {
  return (tools ?? [])
    .filter((tool) => !isKnownTool(tool) && !isInnerTool(tool))
    .map((tool) => `tools.${tool.type}`);
}
