import { defined } from './json.ts';
import { openAiUsage } from './openai-usage.ts';
import { baseUrl, needsKey, type ProviderAccess, type Provider } from './provider.ts';
import { strictSchema } from './strict-schema.ts';
import { canonicalUsage, count, usageField } from './usage.ts';

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

function addressOf({ config }: ProviderAccess): string {
  return baseUrl(config);
}
