import type { JSONObject } from '@ai-sdk/provider';
import { anthropicNative } from '../anthropic/native.ts';
import { ratioFor } from '../aspect-ratio.ts';
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import { defined, isObject } from './json.ts';
import {
  baseUrl,
  needsKey,
  strictSchema,
  type Provider,
  type ProviderAccess,
  type ProviderLimits,
} from './provider.ts';
import { fitBudget, fitThinking } from './thinking.ts';
import {
  anthropicUsage,
  canonicalUsage,
  count,
  countOrZero,
  messageStartUsage,
  openAiUsage,
  sum,
  usageField,
} from './usage.ts';

/** Claude at Anthropic, or at any other server that speaks the Messages API. */
export const anthropic: Provider = {
  kind: 'anthropic',
  namespace: 'anthropic',
  imageUrls: true,
  lateSystem: 'as_user',
  logitBias: false,
  jsonObject: false,
  problem: needsKey,
  async open(access) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const { apiKey, headers, fetch } = access;
    const provider = createAnthropic({ baseURL: addressOf(access), apiKey, headers, fetch });
    return { chat: (model) => provider(model) };
  },
  usage: anthropicUsage,
  earlyUsage: messageStartUsage,
  check: (access) => ({ url: `${addressOf(access)}/models?limit=1`, headers: anthropicHeaders(access) }),
  requestOptions: ({ parallel_tool_calls, user }) =>
    defined({
      ...(parallel_tool_calls === false && { disableParallelToolUse: true }),
      ...(user !== undefined && { metadata: { userId: user } }),
    }),
  cacheOptions: (mark) => ({ cacheControl: mark }),
  fit(body, limits) {
    const { thinking, max_tokens, ...rest } = body;
    const cap = Math.min(
      typeof max_tokens === 'number' ? max_tokens : Infinity,
      limits.maxTokens ?? Infinity,
    );
    const fitted = fitThinking(thinking, limits);
    return { ...rest, ...(Number.isFinite(cap) && { max_tokens: cap }), ...(fitted && { thinking: fitted }) };
  },
  native: (access) => anthropicNative(addressOf(access), anthropicHeaders(access), access.fetch),
};

function addressOf({ config }: ProviderAccess): string {
  return baseUrl(config);
}

function anthropicHeaders({ apiKey, headers }: ProviderAccess): Record<string, string> {
  return { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01', ...headers };
}

const cohere: Provider = {
  kind: 'cohere',
  namespace: 'cohere',
  imageUrls: true,
  lateSystem: 'kept',
  logitBias: false,
  dimensionsOption: 'outputDimension',
  problem: needsKey,
  async open(access) {
    const { createCohere } = await import('@ai-sdk/cohere');
    const { apiKey, headers, fetch } = access;
    const provider = createCohere({ baseURL: addressOf(access), apiKey, headers, fetch });
    return { chat: (model) => provider(model), embedding: (model) => provider.embedding(model) };
  },
  usage: cohereUsage,
  check: (access) => ({
    // The list of models exists only in version 1 of the API, which accepts the same keys.
    url: `${addressOf(access).replace(/\/v2$/, '/v1')}/models?page_size=1`,
    headers: { authorization: `Bearer ${access.apiKey}`, ...access.headers },
  }),
  fit(body, { maxTokens }) {
    const { thinking, p, ...rest } = body;
    const fitted = isObject(thinking) ? fitBudget(thinking, 'token_budget', maxTokens) : undefined;
    return {
      ...rest,
      // Its largest value; clients send OpenAI's default of 1, which it refuses.
      ...(p !== undefined && { p: p === 1 ? 0.99 : p }),
      ...(fitted && { thinking: fitted }),
    };
  },
};

/**
 * `tokens` is what the model processed; `billed_units` leaves out what Cohere does not charge for, and is not what we
 * sell.
 */
export function cohereUsage(raw: unknown) {
  const tokens = usageField(raw, 'tokens');
  return canonicalUsage({
    input: count(tokens, 'input_tokens'),
    cached: count(raw, 'cached_tokens'),
    output: count(tokens, 'output_tokens'),
  });
}

/** Gemini through the Gemini API. The key is sent in a header, never in the URL. */
const google: Provider = {
  kind: 'google',
  namespace: 'google',
  imageUrls: true,
  lateSystem: 'as_user',
  logitBias: false,
  problem: needsKey,
  async open(access) {
    const { createGoogle } = await import('@ai-sdk/google');
    const { apiKey, headers, fetch } = access;
    const provider = createGoogle({ baseURL: addressOf(access), apiKey, headers, fetch });
    return {
      chat: (model) => provider(model),
      image: (model) => provider.image(model),
      embedding: (model) => provider.embedding(model),
    };
  },
  usage: googleUsage,
  check: (access) => ({
    url: `${addressOf(access)}/models?pageSize=1`,
    headers: { 'x-goog-api-key': access.apiKey, ...access.headers },
  }),
  // Thoughts are generated and billed either way; a client that asks for reasoning also wants to see them.
  requestOptions: ({ reasoning_effort }) =>
    reasoning_effort && reasoning_effort !== 'none' ? { thinkingConfig: { includeThoughts: true } } : {},
  fit: fitGoogleThinking,
  images: {
    // Gemini accepts no size, only an aspect ratio from a list.
    shape: (wanted) => ({ aspectRatio: ratioFor(wanted, GOOGLE_RATIOS) }),
    takesMask: false,
  },
};

/**
 * Thoughts are counted beside the answer, input of the model's own tools beside the prompt; cached tokens are part of
 * the prompt.
 */
export function googleUsage(raw: unknown) {
  const thoughts = countOrZero(raw, 'thoughtsTokenCount');
  return canonicalUsage({
    input: sum(count(raw, 'promptTokenCount'), countOrZero(raw, 'toolUsePromptTokenCount')),
    cached: countOrZero(raw, 'cachedContentTokenCount'),
    output: sum(countOrZero(raw, 'candidatesTokenCount'), thoughts),
    reasoning: thoughts,
  });
}

/** The thinking budget is part of the cap here too; a larger one would leave no room for an answer. */
function fitGoogleThinking(body: JSONObject, { maxTokens }: ProviderLimits): JSONObject {
  const { generationConfig } = body;
  if (!isObject(generationConfig) || !isObject(generationConfig.thinkingConfig)) return body;
  const { thinkingConfig, ...rest } = generationConfig;
  const fitted = fitBudget(thinkingConfig, 'thinkingBudget', maxTokens);
  return { ...body, generationConfig: { ...rest, ...(fitted && { thinkingConfig: fitted }) } };
}

const GOOGLE_RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const;

export const mistral: Provider = {
  kind: 'mistral',
  namespace: 'mistral',
  imageUrls: true,
  lateSystem: 'kept',
  logitBias: false,
  problem: needsKey,
  async open(access) {
    const { createMistral } = await import('@ai-sdk/mistral');
    const { apiKey, headers, fetch } = access;
    const provider = createMistral({ baseURL: addressOf(access), apiKey, headers, fetch });
    return { chat: (model) => provider(model), embedding: (model) => provider.embedding(model) };
  },
  usage: mistralUsage,
  check: (access) => ({
    url: `${addressOf(access)}/models`,
    headers: { authorization: `Bearer ${access.apiKey}`, ...access.headers },
  }),
  requestOptions: (request) =>
    defined({
      ...strictSchema(request),
      ...(typeof request.parallel_tool_calls === 'boolean' && {
        parallelToolCalls: request.parallel_tool_calls,
      }),
      ...(typeof request.prompt_cache_key === 'string' && { promptCacheKey: request.prompt_cache_key }),
    }),
};

/** OpenAI's shape, except that the field of the cached tokens has had three names. */
export function mistralUsage(raw: unknown) {
  const cached =
    count(raw, 'num_cached_tokens') ?? count(usageField(raw, 'prompt_token_details'), 'cached_tokens');
  if (cached === undefined) return openAiUsage(raw);
  return canonicalUsage({
    input: count(raw, 'prompt_tokens'),
    cached,
    output: count(raw, 'completion_tokens'),
    reasoning: count(usageField(raw, 'completion_tokens_details'), 'reasoning_tokens'),
  });
}

/**
 * Every kind of backend that is reached through an AI SDK package, each as data. One that needs more than a page has a
 * file of its own.
 */
export const PROVIDERS: Readonly<Record<string, Provider>> = Object.fromEntries(
  [anthropic, azure, bedrock, cohere, google, mistral].map((provider) => [provider.kind, provider]),
);
