import { z } from 'zod';
import type { NewBudget, SpendingLimits } from '../identity/accounts/account-limits.ts';
import type { AccountId } from '../std/ids.ts';
import { readUsd } from './amounts.ts';
import type { RouteParts } from './parts.ts';

export const budgetSchema = z.strictObject({
  amountUsd: z.string().max(30),
  per: z.enum(['day', 'week', 'month', 'total']),
});

const MAX_RATE = 1_000_000;
const rate = z.number().int().min(0).max(MAX_RATE).nullish();

/** What an account may spend and its token may be used for: an absent field changes nothing, null removes a limit. */
export const limitsSchema = z.strictObject({
  budget: budgetSchema.nullish(),
  models: z.array(z.string().max(200)).max(100).nullish(),
  networks: z.array(z.string().max(100)).max(100).nullish(),
  /** From this moment on its token is refused. */
  expiresAt: z.number().int().min(0).max(8_640_000_000_000_000).nullish(),
  chatPerMinute: rate,
  imagesPerMinute: rate,
  concurrent: rate,
});

/** Without the rates, which are the operator's to set, or a team's. */
export const ownLimitsSchema = limitsSchema.omit({
  chatPerMinute: true,
  imagesPerMinute: true,
  concurrent: true,
});

type LimitsBody = z.output<typeof limitsSchema>;

export function readBudget(budget: LimitsBody['budget']): NewBudget | null | undefined {
  return budget ? { amount: readUsd(budget.amountUsd, 'budget'), per: budget.per } : budget;
}

export function spendingOf(body: z.output<typeof ownLimitsSchema>): SpendingLimits {
  const { models, networks, expiresAt } = body;
  return { budget: readBudget(body.budget), models, networks, expiresAt };
}

export async function setRates({ accounts }: RouteParts, id: string, body: LimitsBody): Promise<void> {
  const { chatPerMinute, imagesPerMinute, concurrent } = body;
  // The primary key of an account is an account id.
  await accounts.setLimits(id as AccountId, { chatPerMinute, imagesPerMinute, concurrent });
}
