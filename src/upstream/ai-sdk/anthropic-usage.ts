import type { ChatUsage } from '../../wire/openai/chat.ts';
import { canonicalUsage, count, countOrZero, usageField, sum } from './usage.ts';

/**
 * Anthropic counts cache reads and writes beside `input_tokens`; here all of them are input. If the backend compacted
 * the conversation, the cost of that is reported per iteration and not in the totals.
 */
export function anthropicUsage(raw: unknown): ChatUsage | undefined {
  const cached = countOrZero(raw, 'cache_read_input_tokens');
  return canonicalUsage({
    input: sum(total(raw, 'input_tokens'), countOrZero(raw, 'cache_creation_input_tokens'), cached),
    cached,
    output: total(raw, 'output_tokens'),
    reasoning: count(usageField(raw, 'output_tokens_details'), 'thinking_tokens'),
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
