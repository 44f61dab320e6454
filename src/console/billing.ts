import { z } from 'zod';
import { statementPage, type StatementCursor, type StatementLine } from '../activity/statement.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { usd } from './amounts.ts';
import type { Entry, Page } from './contract.ts';
import { limitOf, markCursor, pagingFields } from './paging.ts';
import { route } from './route.ts';

/** `money` leaves out the charges of requests. */
export const entryFields = { ...pagingFields, kind: z.enum(['all', 'money']).optional() };

/** The account's ledger entries, and redeeming codes. */
export const billingRoutes = [
  route('GET /api/console/entries', {
    who: 'user',
    compressed: true,
    query: z.strictObject(entryFields),
    async handle({ store, reader }, { user, query }): Promise<Page<Entry>> {
      const limit = limitOf(query);
      const filter = { accountId: user.accountId, moneyOnly: query.kind === 'money' };
      const before = markCursor(query.cursor);
      const { lines, next } = await statementPage({ db: store.db, reader }, filter, { before, limit });
      return { items: lines.map(entryOf), next: statementCursor(next) };
    },
  }),
  route('POST /api/console/redeem', {
    who: 'user',
    body: z.strictObject({ code: z.string().min(1).max(100) }),
    async handle(parts, { user, body }) {
      // A code is money: attempts are limited per account, and a code is far too long to be guessed.
      parts.auth.throttle.act('redeem', user.accountId);
      const redeemed = await parts.codes.redeem(body.code, user.accountId);
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
  }),
];

/** Lines are ordered by time, then id. */
export function statementCursor(next: StatementCursor | undefined): string | null {
  return next ? `${next.at}.${next.id}` : null;
}

export function entryOf(row: StatementLine): Entry {
  return {
    id: row.id,
    at: row.created_at,
    kind: row.kind,
    amountUsd: usd(row.amount),
    requestId: row.request_id,
    cause: row.cause,
    archivedDay: archivedDay(row),
  };
}

/** The charge of an archived day is dated to the end of that day. */
function archivedDay({ kind, request_id, created_at }: StatementLine): string | null {
  if (kind !== 'charge' || request_id !== null) return null;
  return new Date(created_at).toISOString().slice(0, 10);
}
