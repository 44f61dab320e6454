import { z } from 'zod';
import type { Catalog } from '../catalog/catalog.ts';
import type { IncomingRequest } from '../http/router.ts';
import { json, rateHeaders } from '../http/response.ts';
import { freeOf } from '../ledger/decide.ts';
import type { AccountSnapshot } from '../ledger/port.ts';
import { rateOf } from '../relay/admission.ts';
import { toUsdNumber } from '../std/money.ts';
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
        email: z.string(),
        balance_usd: z.number(),
        held_usd: z.number().describe('What running requests may still cost'),
        available_usd: z.number(),
        limits: z.object({
          chat_per_minute: z.int(),
          images_per_minute: z.int(),
          concurrent: z.int(),
          monthly_usd: z.number().nullable(),
        }),
        usage: z.object({ month_usd: z.number(), running: z.int() }),
      }),
      examples: {
        example: {
          account: 'acc_0WPlqUf4abcdefgh',
          email: 'you@example.org',
          balance_usd: 9.5,
          held_usd: 0.02,
          available_usd: 9.48,
          limits: { chat_per_minute: 600, images_per_minute: 60, concurrent: 50, monthly_usd: null },
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
  const { limits, balance, held, monthSpent, monthlyLimit } = snapshot;
  return {
    account: snapshot.accountId,
    email: snapshot.email,
    balance_usd: toUsdNumber(balance),
    held_usd: toUsdNumber(held),
    available_usd: toUsdNumber(freeOf(snapshot)),
    limits: {
      chat_per_minute: limits.chatPerMinute ?? catalog.limits.chatPerMinute,
      images_per_minute: limits.imagesPerMinute ?? catalog.limits.imagesPerMinute,
      concurrent: limits.concurrent ?? catalog.limits.concurrent,
      monthly_usd: monthlyLimit === undefined ? null : toUsdNumber(monthlyLimit),
    },
    usage: { month_usd: toUsdNumber(monthSpent), running: snapshot.openHolds },
  };
}
