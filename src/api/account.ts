import { z } from 'zod';
import type { Catalog } from '../catalog/catalog.ts';
import type { IncomingRequest } from '../http/router.ts';
import { json, rateHeaders } from '../http/response.ts';
import { availableOf, freeOf } from '../ledger/decide.ts';
import type { AccountSnapshot, BudgetSnapshot } from '../ledger/port.ts';
import { rateOf } from '../relay/admission.ts';
import { addNano, toUsdNumber } from '../std/money.ts';
import { OPENAI_ERRORS, TOKEN_ERRORS } from './errors.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

export const account: ApiOperation = {
  id: 'getAccount',
  method: 'GET',
  path: '/api/public/v1/account',
  tag: 'Account',
  summary: "Get the account's balance, limits and use this month",
  token: 'required',
  answer: {
    description: 'The account of the token',
    headers: 'rate',
    body: {
      name: 'Account',
      schema: z.object({
        account: z.string(),
        email: z.string().nullable().describe('Null for an app'),
        name: z.string().nullable().describe("An app's name"),
        team: z
          .object({ name: z.string(), role: z.enum(['owner', 'admin', 'viewer', 'member']) })
          .nullable()
          .describe('The team whose balance the account spends'),
        balance_usd: z.number(),
        held_usd: z.number().describe('What running requests may still cost'),
        available_usd: z.number(),
        limits: z.object({
          chat_per_minute: z.int(),
          images_per_minute: z.int(),
          concurrent: z.int(),
          monthly_usd: z.number().nullable(),
          budget: z
            .object({
              amount_usd: z.number().describe('What may be spent in a period'),
              per: z.enum(['day', 'week', 'month', 'total']),
              used_usd: z.number().describe('What was charged in the current period'),
              held_usd: z.number().describe('What requests of the current period may still cost'),
              resets_at: z
                .string()
                .nullable()
                .describe('When the next period begins; null where there is none'),
            })
            .nullable()
            .describe('What the account itself may spend in a period'),
        }),
        usage: z.object({ month_usd: z.number(), running: z.int() }),
      }),
      examples: {
        example: {
          account: 'acc_0WPlqUf4abcdefgh',
          email: 'you@example.org',
          name: null,
          team: null,
          balance_usd: 9.5,
          held_usd: 0.02,
          available_usd: 9.48,
          limits: {
            chat_per_minute: 600,
            images_per_minute: 60,
            concurrent: 50,
            monthly_usd: null,
            budget: null,
          },
          usage: { month_usd: 0.5, running: 1 },
        },
      },
    },
  },
  errors: TOKEN_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: (parts) => (incoming) => answerAccount(incoming, parts),
};

async function answerAccount(incoming: IncomingRequest, { callerAuth, relay }: ApiParts): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const headers = rateHeaders(rateOf(snapshot, 'chat', relay));
  return json(accountView(snapshot, relay.catalog()), incoming.requestId, headers);
}

function accountView(snapshot: AccountSnapshot, catalog: Catalog) {
  const { limits, ownHeld, ownMonthSpent, monthlyLimit, team, budget } = snapshot;
  const available = team || budget ? availableOf(snapshot) : freeOf(snapshot);
  return {
    account: snapshot.accountId,
    email: snapshot.email ?? null,
    name: snapshot.name ?? null,
    team: team ? { name: team.name, role: team.role } : null,
    // Of a team, an account sees no more than it may spend.
    balance_usd: toUsdNumber(team ? addNano(available, ownHeld) : snapshot.balance),
    held_usd: toUsdNumber(ownHeld),
    available_usd: toUsdNumber(available),
    limits: {
      chat_per_minute: limits.chatPerMinute ?? catalog.limits.chatPerMinute,
      images_per_minute: limits.imagesPerMinute ?? catalog.limits.imagesPerMinute,
      concurrent: limits.concurrent ?? catalog.limits.concurrent,
      monthly_usd: monthlyLimit === undefined || team ? null : toUsdNumber(monthlyLimit),
      budget: budget ? budgetView(budget) : null,
    },
    usage: { month_usd: toUsdNumber(ownMonthSpent), running: snapshot.openHolds },
  };
}

function budgetView({ amount, per, used, held, resetsAt }: BudgetSnapshot) {
  return {
    amount_usd: toUsdNumber(amount),
    per,
    used_usd: toUsdNumber(used),
    held_usd: toUsdNumber(held),
    resets_at: resetsAt === undefined ? null : new Date(resetsAt).toISOString(),
  };
}
