import { expect, test } from 'bun:test';
import type { ModelItem } from '../../lib/answers.ts';
import { groupModels, pricesDiffer, filterModels } from './group.ts';

test('a model that several endpoints offer is one row, led by the first offer that can be used', () => {
  const groups = groupModels([
    offer('svc_a', 'guide', { unavailable: 'no key' }),
    offer('svc_b', 'guide'),
    offer('svc_a', 'echo'),
  ]);
  expect(groups.map(({ best, offers }) => [best.endpoint, best.model, offers.length])).toEqual([
    ['svc_b', 'guide', 2],
    ['svc_a', 'echo', 1],
  ]);
});

test('sorted by price, a model stands where its cheapest offer does', () => {
  const models = [
    offer('svc_a', 'guide', {}, '9'),
    offer('svc_a', 'echo', {}, '5'),
    offer('svc_b', 'guide', {}, '1'),
  ];
  const groups = groupModels(filterModels(models, { sort: 'input' }));
  expect(groups.map(({ best }) => `${best.endpoint}/${best.model}`)).toEqual(['svc_b/guide', 'svc_a/echo']);
  expect(groups.map(pricesDiffer)).toEqual([true, false]);
});

test('a chat and an image model of one name are two', () => {
  expect(groupModels([offer('a', 'm'), offer('b', 'm', { type: 'image_generation' })]).length).toBe(2);
});

function offer(endpoint: string, model: string, more: Partial<ModelItem> = {}, inputUsd = '1.00'): ModelItem {
  return {
    endpoint,
    endpointName: endpoint,
    type: 'chat_completion',
    model,
    isDemo: false,
    next: null,
    displayName: model,
    list: 'l',
    price: { kind: 'tokens', inputUsd, cachedInputUsd: '0.10', outputUsd: '2.00', others: [], tiers: [] },
    free: false,
    contextTokens: 1,
    maxOutput: 1,
    sizes: [],
    vision: false,
    files: false,
    tools: false,
    reasoning: false,
    unavailable: null,
    abilities: null,
    ...more,
  };
}
