import { z } from 'zod';
import { requestById } from '../../activity/request-log.ts';
import { emailsOf } from '../../activity/accounts.ts';
import { statementPage } from '../../activity/statement.ts';
import { AuthRefusal } from '../../identity/sign-in/refusal.ts';
import type { NewEntry } from '../../ledger/port.ts';
import type { AccountId } from '../../std/ids.ts';
import { readUsd, usd } from '../amounts.ts';
import { entryFields, entryOf, lineCursor } from '../billing.ts';
import type { AdminMoneyBody, AdminMoneyResult } from '../contract.ts';
import { requireAccount } from '../overview.ts';
import { limitOf, markCursor, pageOf } from '../paging.ts';
import type { RouteParts } from '../parts.ts';
import type { RouteHandlers, Loose } from '../visit.ts';

type MoneyRoutes =
  | `POST /api/console/admin/accounts/{id}/${'credit' | 'refund' | 'adjust'}`
  | 'GET /api/console/admin/entries';

const bodySchema = z.strictObject({
  amountUsd: z.string().max(31),
  cause: z.string().trim().min(1).max(200),
  requestId: z.string().max(64).optional(),
  once: z.string().min(8).max(64),
});

/** Credits, refunds and adjustments by an admin. Each has a cause and an actor, and a form sent twice counts once. */
export function moneyRoutes(parts: RouteParts): Pick<RouteHandlers, MoneyRoutes> {
  const at = { db: parts.store.db, reader: parts.reader };
  const post = async (
    id: string,
    actor: string,
    entry: Pick<NewEntry, 'kind' | 'amount' | 'cause' | 'once' | 'requestId'>,
  ) => {
    await requireAccount(parts, id);
    return result(await parts.ledger.post({ accountId: id as AccountId, actor, ...entry }));
  };
  return {
    'POST /api/console/admin/accounts/{id}/credit': {
      body: bodySchema,
      handle: ({ params, visitor, body }) =>
        post(params.id, visitor.accountId, {
          ...said(params.id, body),
          kind: 'credit',
          amount: positive(body),
        }),
    },
    'POST /api/console/admin/accounts/{id}/refund': {
      body: bodySchema,
      async handle({ params, visitor, body }) {
        const amount = positive(body);
        const refunded =
          body.requestId === undefined ? {} : await refundOf(parts, params.id, body.requestId, amount);
        return post(params.id, visitor.accountId, {
          ...said(params.id, body),
          ...refunded,
          kind: 'refund',
          amount,
        });
      },
    },
    'POST /api/console/admin/accounts/{id}/adjust': {
      body: bodySchema,
      handle: ({ params, visitor, body }) =>
        post(params.id, visitor.accountId, {
          ...said(params.id, body),
          kind: 'adjustment',
          amount: signed(body),
        }),
    },
    'GET /api/console/admin/entries': {
      query: z.strictObject({ ...entryFields, account: z.string().max(64).optional() }),
      async handle({ query }) {
        const limit = limitOf(query);
        const filter = { accountId: query.account, moneyOnly: query.kind !== 'all' };
        const rows = await statementPage(at, filter, { before: markCursor(query.cursor), limit: limit + 1 });
        const emails = await emailsOf(
          at.db,
          rows.map((row) => row.account_id),
        );
        return pageOf(rows, limit, {
          item: (row) => ({
            ...entryOf(row),
            accountId: row.account_id,
            email: emails.get(row.account_id) ?? '',
            actor: row.actor,
          }),
          cursor: lineCursor,
        });
      },
    },
  };
}

function said(accountId: string, body: Loose<AdminMoneyBody>) {
  return { cause: body.cause, once: `admin:${accountId}:${body.once}` };
}

function positive(body: Loose<AdminMoneyBody>): number {
  const amount = readUsd(body.amountUsd, 'amountUsd');
  if (amount === 0)
    throw new AuthRefusal('invalid_field', 'The amount must be above zero.', { param: 'amountUsd' });
  return amount;
}

function signed(body: Loose<AdminMoneyBody>): number {
  const negative = body.amountUsd.startsWith('-');
  const amount = positive({ ...body, amountUsd: negative ? body.amountUsd.slice(1) : body.amountUsd });
  return negative ? -amount : amount;
}

/** A request is refunded once, and never more than it was charged. */
async function refundOf(parts: RouteParts, accountId: string, requestId: string, amount: number) {
  const request = await requestById(parts.store.db, requestId, accountId);
  if (!request) throw new AuthRefusal('not_found', 'This account has no such request.');
  if (amount > request.charged) {
    throw new AuthRefusal('invalid_field', `This request was charged ${usd(request.charged)}.`, {
      param: 'amountUsd',
    });
  }
  return { requestId, once: `refund:${requestId}` };
}

function result({ entryId, balance }: { entryId: number; balance: number }): AdminMoneyResult {
  return { entryId, balanceUsd: usd(balance) };
}
