import type { JSONObject } from '@ai-sdk/provider';
import { baseUrl, needsKey, type ProviderAccess, type ProviderLimits, type Provider } from './provider.ts';
import { ratioFor } from '../aspect-ratio.ts';
import { isObject } from './json.ts';
import { fitBudget } from './thinking.ts';
import { canonicalUsage, count, countOrZero, sum } from './usage.ts';

/** Gemini through the Gemini API. The key is sent in a header, never in the URL. */
export const google: Provider = {
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
  fit,
  images: {
    // Gemini accepts no size, only an aspect ratio from a list.
    shape: (wanted) => ({ aspectRatio: ratioFor(wanted, RATIOS) }),
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
function fit(body: JSONObject, { maxTokens }: ProviderLimits): JSONObject {
  const { generationConfig } = body;
  if (!isObject(generationConfig) || !isObject(generationConfig.thinkingConfig)) return body;
  const { thinkingConfig, ...rest } = generationConfig;
  const fitted = fitBudget(thinkingConfig, 'thinkingBudget', maxTokens);
  return { ...body, generationConfig: { ...rest, ...(fitted && { thinkingConfig: fitted }) } };
}

function addressOf({ config }: ProviderAccess): string {
  return baseUrl(config);
}

const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const;
