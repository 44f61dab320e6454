import type { SharedV4ProviderOptions } from '@ai-sdk/provider';
import { isObject } from './json.ts';
import type { Provider } from './definition.ts';

/** `cache_control`, which several clients send with the OpenAI dialect too, where the provider knows what to do with it. */
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
