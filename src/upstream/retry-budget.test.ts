import { expect, test } from 'bun:test';
import { RetryBudget } from './retry-budget.ts';

test('retries are a tenth of the requests and a small reserve, however many fail', () => {
  const budget = new RetryBudget();
  let retries = 0;
  for (let request = 0; request < 10_000; request++) {
    budget.earn();
    if (budget.spend()) retries++;
  }
  expect(retries).toBeGreaterThanOrEqual(1_000);
  expect(retries).toBeLessThanOrEqual(1_020);
});
