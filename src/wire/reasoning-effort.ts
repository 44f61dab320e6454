import { memberOf } from './field-table.ts';

/** Budgets of thinking in tokens, which several dialects have, and the corresponding efforts. */
const EFFORTS: readonly (readonly [below: number, effort: string])[] = [
  [4_096, 'low'],
  [16_384, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
];

export function effortOfBudget(tokens: number): string | undefined {
  return EFFORTS.find(([below]) => tokens < below)?.[1];
}

/** Whether OpenRouter's `reasoning` says anything that only a model which reasons can follow. */
export function asksToReason(reasoning: unknown): boolean {
  return ['effort', 'max_tokens', 'enabled'].some((option) => memberOf(reasoning, option) != null);
}
