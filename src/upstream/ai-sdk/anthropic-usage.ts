import type { ChatUsage } from '../../wire/openai/chat.ts';
import { canonicalUsage, count, countOrZero, usageField, sum } from './usage.ts';

/**
 * Anthropic counts cache reads and writes beside `input_tokens`; here all of them are input
 * (https://docs.anthropic.com/en/api/messages#response-usage). If the backend compacted
 * the conversation, the cost of that is reported per iteration and not in the totals.
 */
export function anthropicUsage(raw: unknown): ChatUsage | undefined {
  const cached = countOrZero(raw, 'cache_read_input_tokens');
  const written = countOrZero(raw, 'cache_creation_input_tokens');
  const long = Math.min(
    count(usageField(raw, 'cache_creation'), 'ephemeral_1h_input_tokens') ?? 0,
    written ?? 0,
  );
  const tier = usageField(raw, 'service_tier');
  return canonicalUsage({
    input: sum(total(raw, 'input_tokens'), written, cached),
    cached,
    cacheWrite: (written ?? 0) - long,
    cacheWrite1h: long,
    output: total(raw, 'output_tokens'),
    reasoning: count(usageField(raw, 'output_tokens_details'), 'thinking_tokens'),
    webSearches: count(usageField(raw, 'server_tool_use'), 'web_search_requests'),
    serviceTier: typeof tier === 'string' && tier !== 'standard' ? tier : undefined,
  });
}

const OWN_ITERATIONS = new Set<unknown>(['compaction', 'message']);

function total(raw: unknown, key: string): number | undefined {
  const iterations = usageField(raw, 'iterations');
  if (
    !Array.isArray(iterations) ||
    iterations.some((item) => usageField(item, 'type') === 'fallback_message')
  )
    return count(raw, key);
  const own = iterations.filter((item) => OWN_ITERATIONS.has(usageField(item, 'type')));
  return own.length === 0 ? count(raw, key) : sum(...own.map((item) => count(item, key)));
}
