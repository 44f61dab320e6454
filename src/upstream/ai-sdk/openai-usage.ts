import { canonicalUsage, count, usageField } from './usage.ts';

/** OpenAI's own shape, which several providers share: already canonical, but not yet validated. */
export function openAiUsage(raw: unknown) {
  return canonicalUsage({
    input: count(raw, 'prompt_tokens'),
    cached: count(usageField(raw, 'prompt_tokens_details'), 'cached_tokens'),
    audioInput: count(usageField(raw, 'prompt_tokens_details'), 'audio_tokens'),
    output: count(raw, 'completion_tokens'),
    reasoning: count(usageField(raw, 'completion_tokens_details'), 'reasoning_tokens'),
    audioOutput: count(usageField(raw, 'completion_tokens_details'), 'audio_tokens'),
  });
}
