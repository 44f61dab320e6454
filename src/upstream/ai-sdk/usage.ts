import type { ChatUsage } from '../../wire/openai/chat.ts';

/** What a backend counted, in its own usage object; undefined means that it did not report it. */
interface Counts {
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

/** The first event of Anthropic's stream has all of the input and the tier, and an output that has just begun. */
export function messageStartUsage(event: unknown): ChatUsage | undefined {
  if (usageField(event, 'type') !== 'message_start') return undefined;
  return anthropicUsage(usageField(usageField(event, 'message'), 'usage'));
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
