import type { JSONObject } from '@ai-sdk/provider';
import { isObject } from './json.ts';
import type { ProviderLimits } from './definition.ts';

/**
 * Claude's thinking with a fixed budget, brought under the cap: the budget is part of `max_tokens` at the backend, and
 * must be smaller than it. Undefined means that this request goes without thinking: there is no room, or the turn goes
 * on after tool results without the signed thinking that began it, which the OpenAI dialect cannot carry and the
 * backend would refuse. Adaptive thinking has no budget and no such rule.
 */
export function fitThinking(thinking: unknown, limits: ProviderLimits): JSONObject | undefined {
  if (!isObject(thinking)) return undefined;
  if (thinking.type !== 'enabled') return thinking;
  if (limits.midTurn) return undefined;
  return fitBudget(thinking, 'budget_tokens', limits.maxTokens);
}

/** The smallest budget that the backends take. */
const MIN_BUDGET = 1024;

/** At most half of the cap for thinking, so that there is an answer too. */
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
