import type { ChatUsage } from '../../wire/openai/chat.ts';

/** What a backend counted, in the terms of its own usage object; undefined means that it did not say. */
export interface Counts {
  /** Every input token, those read from and written to a cache included. */
  readonly input: number | undefined;
  readonly cached: number | undefined;
  /** Every output token, reasoning included. */
  readonly output: number | undefined;
  readonly reasoning?: number | undefined;
}

/**
 * Canonical usage from a backend's counts. A number that is negative, fractional, infinite, text or absurd is a lie or
 * a fault: then there is no usage at all, and the relay counts for itself. Zero is a number like any other.
 */
export function canonicalUsage(counts: Counts): ChatUsage | undefined {
  const { input, output } = counts;
  if (input === undefined || output === undefined) return undefined;
  const usage: ChatUsage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  if (counts.cached !== undefined)
    usage.prompt_tokens_details = { cached_tokens: Math.min(counts.cached, input) };
  if (counts.reasoning !== undefined) {
    usage.completion_tokens_details = { reasoning_tokens: Math.min(counts.reasoning, output) };
  }
  return usage;
}

/** No single answer of any model comes near this. */
const MAX_TOKENS = 100_000_000;

/** One count of a raw usage object: null and absent are `undefined`, and so is what cannot be a count. */
export function count(raw: unknown, key: string): number | undefined {
  const value = usageField(raw, key);
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS
    ? (value as number)
    : undefined;
}

/** Like {@link count} for a part that backends leave out when it is nothing; what is there but no count spoils the sum. */
export function countOrZero(raw: unknown, key: string): number | undefined {
  const value = usageField(raw, key);
  return value === undefined || value === null ? 0 : count(raw, key);
}

export function sum(...parts: readonly (number | undefined)[]): number | undefined {
  let total = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    total += part;
  }
  return total <= MAX_TOKENS ? total : undefined;
}

export function usageField(raw: unknown, key: string): unknown {
  return typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>)[key] : undefined;
}
