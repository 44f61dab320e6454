import { describe, expect, test } from 'bun:test';
import { bedrock } from './bedrock.ts';
import { fitBudget, fitThinking } from './thinking.ts';

const enabled = (budget_tokens: number) => ({ type: 'enabled', budget_tokens });

describe('thinking stays under the cap of the hold', () => {
  test('a budget below the cap is unchanged', () => {
    expect(fitThinking(enabled(2000), { maxTokens: 4000, midTurn: false })).toEqual(enabled(2000));
  });

  test('a budget at or above the cap becomes half of it', () => {
    expect(fitThinking(enabled(4000), { maxTokens: 4000, midTurn: false })).toEqual(enabled(2000));
  });

  test('without room for the smallest budget there is no thinking', () => {
    expect(fitThinking(enabled(4000), { maxTokens: 2000, midTurn: false })).toBeUndefined();
  });

  test('a turn that continues after tool results can think adaptively, but not with a budget', () => {
    expect(fitThinking(enabled(2000), { maxTokens: 4000, midTurn: true })).toBeUndefined();
    expect(fitThinking({ type: 'adaptive' }, { maxTokens: 10, midTurn: true })).toEqual({ type: 'adaptive' });
  });

  test('without a cap nothing is changed', () => {
    expect(fitBudget({ token_budget: 9 }, 'token_budget', undefined)).toEqual({ token_budget: 9 });
  });

  test('Nova’s highest effort, which does not accept a cap, is lowered because of the cap', () => {
    const body = {
      messages: [],
      additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } },
    };
    expect(bedrock.fit?.(body, { maxTokens: 500, midTurn: false })).toEqual({
      messages: [],
      inferenceConfig: { maxTokens: 500 },
      additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } },
    });
  });
});
