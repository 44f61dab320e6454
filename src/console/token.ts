import { z } from 'zod';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import type { AccountRow } from '../store/schema.ts';
import { requireConfirmed } from '../identity/sign-in/confirmation.ts';
import type { TokenInfo } from './contract.ts';
import type { RouteParts } from './parts.ts';
import type { RouteHandlers } from './visit.ts';

type TokenRoutes = 'GET /api/console/token' | 'POST /api/console/token' | 'DELETE /api/console/token';

/** The account's API token: created, shown once, replaced, revoked. */
export function tokenRoutes(parts: RouteParts): Pick<RouteHandlers, TokenRoutes> {
  const { store, accounts, clock } = parts;
  const tokenRow = (accountId: string) =>
    store.db
      .selectFrom('account')
      .select(TOKEN_COLUMNS)
      .where('id', '=', accountId)
      .executeTakeFirstOrThrow();
  return {
    'GET /api/console/token': {
      handle: async ({ visitor }) => ({ token: tokenInfo(await tokenRow(visitor.accountId)) }),
    },
    'POST /api/console/token': {
      body: z.strictObject({}),
      async handle({ visitor }) {
        const before = await tokenRow(visitor.accountId);
        if (before.token_hash !== null) requireConfirmed(visitor, clock);
        const token = await accounts.replaceToken(visitor.accountId);
        await store.durable();
        const info = tokenInfo(await tokenRow(visitor.accountId));
        if (!info)
          throw new AuthRefusal('conflict', 'The token was taken back at this very moment. Try again.');
        return { token, info };
      },
    },
    'DELETE /api/console/token': {
      async handle({ visitor }) {
        await revokeToken(parts, visitor.accountId);
        return {};
      },
    },
  };
}

const TOKEN_COLUMNS = [
  'token_hash',
  'token_hint',
  'token_created_at',
  'token_used_at',
  'token_exposed_at',
] as const;

/** From this statement on no node admits the old token. */
export async function revokeToken({ store }: RouteParts, accountId: string): Promise<void> {
  await store.db
    .updateTable('account')
    .set({
      token_hash: null,
      token_hint: null,
      token_created_at: null,
      token_used_at: null,
      token_exposed_at: null,
    })
    .where('id', '=', accountId)
    .execute();
  await store.durable();
}

export function tokenInfo(row: Pick<AccountRow, (typeof TOKEN_COLUMNS)[number]>): TokenInfo | null {
  if (row.token_hash === null) return null;
  return {
    hint: row.token_hint ?? '',
    createdAt: row.token_created_at ?? 0,
    usedAt: row.token_used_at,
    exposedAt: row.token_exposed_at,
  };
}
