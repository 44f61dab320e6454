import type { SharedV4ProviderOptions } from '@ai-sdk/provider';
import { isObject } from './json.ts';
import type { Provider } from './provider.ts';

/** `cache_control`, which several clients send in the OpenAI dialect too, for providers that support it. */
export function cacheControlOptions(
  marked: { readonly [key: string]: unknown },
  provider: Provider,
): CacheControlOptions {
  const mark = marked.cache_control;
  if (!isObject(mark) || !provider.cacheOptions) return {};
  return { providerOptions: { [provider.namespace]: provider.cacheOptions(mark) } };
}

export interface CacheControlOptions {
  providerOptions?: SharedV4ProviderOptions;
}
