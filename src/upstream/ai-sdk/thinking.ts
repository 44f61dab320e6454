import type { JSONObject } from '@ai-sdk/provider';
import { isObject } from './json.ts';
import type { ProviderLimits } from './provider.ts';

/**
 * Claude's thinking with a fixed budget, lowered to fit the cap: at the backend the budget is part of `max_tokens` and
 * must be smaller. Undefined means that this request goes without thinking: there is no room for it, or the turn
 * continues after tool results without the signed thinking that began it, which the OpenAI dialect cannot carry and the
 * backend requires. Adaptive thinking has no budget and no such rule.
 */
export function fitThinking(thinking: unknown, limits: ProviderLimits): JSONObject | undefined {
  if (!isObject(thinking)) return undefined;
  if (thinking.type !== 'enabled') return thinking;
  if (limits.midTurn) return undefined;
  return fitBudget(thinking, 'budget_tokens', limits.maxTokens);
}

/** The smallest budget that the backends accept. */
const MIN_BUDGET = 1024;

/** At most half of the cap is for thinking, so that there is room for an answer. */
export function fitBudget(
  thinking: JSONObject,
  key: string,
  maxTokens: number | undefined,
): JSONObject | undefined {
  const wanted = thinking[key];
  if (maxTokens === undefined || typeof wanted !== 'number' || wanted < maxTokens) return thinking;
  const budget = Math.floor(maxTokens / 2);
  return budget < MIN_BUDGET ? undefined : { ...thinking, [key]: budget };
}
