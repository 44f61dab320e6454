import { anthropicNative } from '../anthropic/native.ts';
import { anthropicUsage } from './anthropic-usage.ts';
import { defined } from './json.ts';
import { baseUrl, needsKey, type ProviderAccess, type Provider } from './provider.ts';
import { fitThinking } from './thinking.ts';

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
  check: (access) => ({ url: `${addressOf(access)}/models?limit=1`, headers: keyHeaders(access) }),
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
  native: (access) => anthropicNative(addressOf(access), keyHeaders(access), access.fetch),
};

function addressOf({ config }: ProviderAccess): string {
  return baseUrl(config);
}

function keyHeaders({ apiKey, headers }: ProviderAccess): Record<string, string> {
  return { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01', ...headers };
}
