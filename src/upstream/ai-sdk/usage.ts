import type { ChatUsage } from '../../wire/openai/chat.ts';

/** What a backend counted, in its own usage object; undefined means that it did not report it. */
export interface Counts {
  /** All input tokens, including those read from and written to a cache. */
  readonly input: number | undefined;
  readonly cached: number | undefined;
  /** All output tokens, including reasoning. */
  readonly output: number | undefined;
  readonly reasoning?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly cacheWrite1h?: number | undefined;
  readonly audioInput?: number | undefined;
  readonly imageInput?: number | undefined;
  readonly audioOutput?: number | undefined;
  readonly imageOutput?: number | undefined;
  readonly webSearches?: number | undefined;
  readonly serviceTier?: string | undefined;
}

/**
 * Canonical usage from a backend's counts. If any number is negative, fractional, infinite, textual or absurdly large,
 * there is no usage at all, and the relay counts for itself. Zero is a valid number.
 */
export function canonicalUsage(counts: Counts): ChatUsage | undefined {
  const { input, output } = counts;
  if (input === undefined || output === undefined) return undefined;
  const usage: ChatUsage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const inputParts = {
    ...(counts.cached !== undefined && { cached_tokens: Math.min(counts.cached, input) }),
    ...(counts.cacheWrite && { cache_write_tokens: counts.cacheWrite }),
    ...(counts.cacheWrite1h && { cache_write_1h_tokens: counts.cacheWrite1h }),
    ...(counts.audioInput && { audio_tokens: counts.audioInput }),
    ...(counts.imageInput && { image_tokens: counts.imageInput }),
  };
  const outputParts = {
    ...(counts.reasoning !== undefined && { reasoning_tokens: Math.min(counts.reasoning, output) }),
    ...(counts.audioOutput && { audio_tokens: counts.audioOutput }),
    ...(counts.imageOutput && { image_tokens: counts.imageOutput }),
  };
  if (Object.keys(inputParts).length > 0) usage.prompt_tokens_details = inputParts;
  if (Object.keys(outputParts).length > 0) usage.completion_tokens_details = outputParts;
  if (counts.webSearches) usage.server_tool_use = { web_search_requests: counts.webSearches };
  if (counts.serviceTier !== undefined) usage.service_tier = counts.serviceTier;
  return usage;
}

/** No single answer of any model comes near this. */
const MAX_TOKENS = 100_000_000;

/** One count of a raw usage object: `undefined` if it is null, absent or not a valid count. */
export function count(raw: unknown, key: string): number | undefined {
  const value = usageField(raw, key);
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS
    ? (value as number)
    : undefined;
}

/**
 * Like {@link count} for a part that backends leave out when it is zero; a value that is not a count makes the sum
 * invalid.
 */
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
