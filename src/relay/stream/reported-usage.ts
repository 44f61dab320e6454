import type { UsageSource } from '../../ledger/port.ts';
import { MAX_COUNT, NO_USAGE, type Usage } from '../../ledger/price.ts';
import type { ChatUsage } from '../../wire/openai/chat.ts';

export interface MeteredUsage {
  readonly usage: Usage;
  readonly source: UsageSource;
}

/**
 * The usage that a backend reported, or `undefined` unless every number in it is an integer in range: negative,
 * infinite, textual or missing numbers are not corrected, and our own count is used instead.
 */
export function readUsage(raw: unknown): Usage | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } =
    raw as Record<string, unknown>;
  if (!isCount(prompt_tokens) || !isCount(completion_tokens)) return undefined;
  const cached = detail(prompt_tokens_details, 'cached_tokens');
  const reasoning = detail(completion_tokens_details, 'reasoning_tokens');
  return {
    ...NO_USAGE,
    input: prompt_tokens,
    cached: Math.min(cached, prompt_tokens),
    output: completion_tokens,
    reasoning: Math.min(reasoning, completion_tokens),
  };
}

/** The charged usage in the wire format, if the backend did not report it itself. */
export function usageOf({ usage, source }: MeteredUsage): ChatUsage | undefined {
  if (source === 'upstream') return undefined;
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    ...(usage.cached > 0 && { prompt_tokens_details: { cached_tokens: usage.cached } }),
    ...(usage.reasoning > 0 && { completion_tokens_details: { reasoning_tokens: usage.reasoning } }),
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_COUNT;
}

function detail(details: unknown, key: string): number {
  if (typeof details !== 'object' || details === null) return 0;
  const value = (details as Record<string, unknown>)[key];
  return isCount(value) ? value : 0;
}
