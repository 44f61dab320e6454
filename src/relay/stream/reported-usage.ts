import type { UsageSource } from '../../ledger/port.ts';
import { MAX_COUNT, NO_USAGE, type Usage } from '../../ledger/price.ts';
import type { ExtraUsage } from '../../ledger/priced-parts.ts';
import { nanoUsd, type NanoUsd } from '../../std/money.ts';
import { EXTRA_USAGE_ROWS, type ExtraUsageName } from '../../std/price-dimensions.ts';
import type { ChatUsage } from '../../wire/openai/chat.ts';

export interface MeteredUsage {
  readonly usage: Usage;
  readonly source: UsageSource;
  /** The cost of the request that the provider reports. */
  readonly cost?: NanoUsd | undefined;
}

/**
 * The usage that a backend reported, or `undefined` unless every number in it is an integer in range: negative,
 * infinite, textual or missing numbers are not corrected, and our own count is used instead. Parts of a side never exceed
 * it together. `serviceTier` is the one that answered, where it stands beside the usage (OpenAI) and not in it (Anthropic).
 */
export function readUsage(raw: unknown, serviceTier?: unknown): Usage | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details, completion_tokens_details } =
    raw as Record<string, unknown>;
  if (!isCount(prompt_tokens) || !isCount(completion_tokens)) return undefined;
  const cached = Math.min(detail(prompt_tokens_details, 'cached_tokens'), prompt_tokens);
  const reasoning = detail(completion_tokens_details, 'reasoning_tokens');
  // xAI counts reasoning beside the completion, and bills both; its total tells.
  const isBeside = reasoning > 0 && total_tokens === prompt_tokens + completion_tokens + reasoning;
  const output = isBeside ? completion_tokens + reasoning : completion_tokens;
  if (!isCount(output)) return undefined;
  const usage = {
    input: prompt_tokens,
    cached,
    output,
    reasoning: Math.min(reasoning, output),
    images: 0,
  };
  const { server_tool_use, service_tier } = raw as Record<string, unknown>;
  const tier = tierOf(serviceTier ?? service_tier);
  // Most answers report nothing else.
  if (!(prompt_tokens_details ?? completion_tokens_details ?? server_tool_use ?? tier)) return usage;
  const extra = extraUsage({
    ...reportedParts(raw, { input: prompt_tokens - cached, output, beside: MAX_COUNT }),
    serviceTier: tier,
  });
  return extra ? { ...usage, extra } : usage;
}

/**
 * The usage of an images answer (OpenAI: https://platform.openai.com/docs/api-reference/images/object, `usage` of GPT image
 * models), with what was made: all output tokens of such an answer are image tokens unless it says otherwise.
 */
export function readImageUsage(raw: unknown, made: ImagesMade): Usage {
  const { images, pixels, quality, inputImages, partialImages } = made;
  const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } =
    typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>) : {};
  const input = isCount(input_tokens) ? input_tokens : 0;
  const output = isCount(output_tokens) ? output_tokens : 0;
  const text = Math.min(detail(output_tokens_details, 'text_tokens'), output);
  const extra = extraUsage({
    imageInput: Math.min(detail(input_tokens_details, 'image_tokens'), input),
    imageOutput: output - text,
    pixels,
    quality,
    inputImages,
    partialImages,
  });
  return { ...NO_USAGE, input, output, images, ...(extra && { extra }) };
}

interface ImagesMade {
  readonly images: number;
  /** The pixels of the images, where these are priced by pixels. */
  readonly pixels?: number | undefined;
  readonly quality?: string | undefined;
  readonly inputImages?: number | undefined;
  readonly partialImages?: number | undefined;
}

/** The counts in the dimensions' own details; together, the parts of a side never exceed it. */
function reportedParts(raw: object, left: Record<'input' | 'output' | 'beside', number>): ExtraUsage {
  const found: Partial<Record<ExtraUsageName, number>> = {};
  for (const row of EXTRA_USAGE_ROWS) {
    if (!('reportedIn' in row)) continue;
    const [details, name] = row.reportedIn;
    const count = Math.min(detail(member(raw, details), name), left[row.side]);
    found[row.used] = count;
    left[row.side] -= count;
  }
  return found;
}

/** Only what was used; `undefined` for nothing. */
function extraUsage(all: ExtraUsage): ExtraUsage | undefined {
  const used = Object.entries(all).filter(([, value]) => value !== undefined && value !== 0);
  return used.length === 0 ? undefined : Object.fromEntries(used);
}

const ORDINARY_TIERS = new Set(['default', 'standard', 'auto', 'standard_only', 'on_demand']);

export function tierOf(tier: unknown): string | undefined {
  return typeof tier === 'string' && /^[\w.-]{1,32}$/.test(tier) && !ORDINARY_TIERS.has(tier)
    ? tier
    : undefined;
}

/**
 * What the provider takes, in dollars: OpenRouter's `cost`, plus the part that it bills through the caller's own key
 * (https://openrouter.ai/docs/use-cases/usage-accounting), Perplexity's `cost.total_cost`, DeepInfra's `estimated_cost`.
 */
export function reportedCost(raw: unknown): NanoUsd | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { cost, cost_details, is_byok, estimated_cost } = raw as Record<string, unknown>;
  const own = dollars(cost) ?? dollars(member(cost, 'total_cost')) ?? dollars(estimated_cost);
  if (own === undefined) return undefined;
  const beside = is_byok === true ? (dollars(member(cost_details, 'upstream_inference_cost')) ?? 0) : 0;
  return nanoUsd(Math.round((own + beside) * 1_000_000_000));
}

/** An amount beyond the cost of any request. */
const MAX_REPORTED_USD = 100_000;

function dollars(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= MAX_REPORTED_USD ? value : undefined;
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
  const value = member(details, key);
  return isCount(value) ? value : 0;
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

/** Sound and pictures that a chat has shown so far. */
export interface ShownMedia {
  readonly soundBytes: number;
  readonly pictures: number;
}

export const NO_MEDIA: ShownMedia = { soundBytes: 0, pictures: 0 };

/**
 * Of a message or a part of one: `audio.data` (base64, https://platform.openai.com/docs/guides/audio) and `images`
 * (https://openrouter.ai/docs/features/multimodal/image-generation), as those who write this form send them.
 */
export function mediaIn(message: unknown): ShownMedia | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { audio, images } = message as { readonly audio?: unknown; readonly images?: unknown };
  if (audio == null && images == null) return undefined;
  const data = typeof audio === 'object' && audio !== null ? (audio as { data?: unknown }).data : undefined;
  const soundBytes = typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0;
  const pictures = Array.isArray(images) ? images.length : 0;
  return soundBytes + pictures === 0 ? undefined : { soundBytes, pictures };
}

/** Streams of sound are 16-bit samples, 24,000 a second, by the same guide. */
const BYTES_PER_SECOND = 48_000;
/** One for 50 ms: https://platform.openai.com/docs/guides/realtime-costs. */
const TOKENS_PER_SECOND = 20;
/** Of a picture of up to 1024 × 1024 pixels: https://ai.google.dev/gemini-api/docs/pricing (image output). */
const TOKENS_PER_PICTURE = 1_290;

/** The tokens of sounds and pictures, where no report names them. */
export function mediaTokens({ soundBytes, pictures }: ShownMedia): {
  readonly audioOutput: number;
  readonly imageOutput: number;
} {
  return {
    audioOutput: Math.ceil((soundBytes / BYTES_PER_SECOND) * TOKENS_PER_SECOND),
    imageOutput: pictures * TOKENS_PER_PICTURE,
  };
}
