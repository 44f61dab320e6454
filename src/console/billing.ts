import { z } from 'zod';
import { statementPage, type StatementLine } from '../activity/statement.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { usd } from './amounts.ts';
import type { Entry } from './contract.ts';
import { limitOf, markCursor, pageOf, pagingFields } from './paging.ts';
import type { RouteParts } from './parts.ts';
import type { RouteHandlers } from './visit.ts';

export const entryFields = { ...pagingFields, kind: z.enum(['all', 'money']).optional() };

/** The account's ledger entries, and redeeming codes. */
export function billingRoutes(
  parts: RouteParts,
): Pick<RouteHandlers, 'GET /api/console/entries' | 'POST /api/console/redeem'> {
  const at = { db: parts.store.db, reader: parts.reader };
  return {
    'GET /api/console/entries': {
      query: z.strictObject(entryFields),
      async handle({ visitor, query }) {
        const limit = limitOf(query);
        const filter = { accountId: visitor.accountId, moneyOnly: query.kind === 'money' };
        const rows = await statementPage(at, filter, { before: markCursor(query.cursor), limit: limit + 1 });
        return pageOf(rows, limit, { item: entryOf, cursor: lineCursor });
      },
    },
    'POST /api/console/redeem': {
      body: z.strictObject({ code: z.string().min(1).max(100) }),
      async handle({ visitor, body }) {
        // A code is money: attempts are limited per account, and a code is far too long to be guessed.
        parts.auth.throttle.act('redeem', visitor.accountId);
        const redeemed = await parts.codes.redeem(body.code, visitor.accountId);
        if (!redeemed) {
          throw new AuthRefusal(
            'code_invalid',
            'This code is not valid, was redeemed already, or is too old.',
            {
              param: 'code',
            },
          );
        }
        return { amountUsd: usd(redeemed.amount), balanceUsd: usd(redeemed.balance) };
      },
    },
  };
}

/** Lines are ordered by time, then id. */
export function lineCursor({ created_at, id }: StatementLine): string {
  return `${created_at}.${id}`;
}

export function entryOf(row: StatementLine): Entry {
  return {
    id: row.id,
    at: row.created_at,
    kind: row.kind,
    amountUsd: usd(row.amount),
    requestId: row.request_id,
    cause: row.cause,
  };
}
