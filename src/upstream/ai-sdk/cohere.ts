import { baseUrl, needsKey, type ProviderAccess, type Provider } from './provider.ts';
import { isObject } from './json.ts';
import { fitBudget } from './thinking.ts';
import { canonicalUsage, count, usageField } from './usage.ts';

export const cohere: Provider = {
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

function addressOf({ config }: ProviderAccess): string {
  return baseUrl(config);
}
