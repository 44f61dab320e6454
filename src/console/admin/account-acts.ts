import { sql, type Transaction } from 'kysely';
import { z } from 'zod';
import { AuthRefusal } from '../../identity/sign-in/refusal.ts';
import { RESET_LIFE_MS } from '../../identity/sign-in/reset.ts';
import { lockAdmins } from '../../identity/sign-in/setup.ts';
import { randomPart } from '../../std/ids.ts';
import type { Schema } from '../../store/schema.ts';
import type { AdminAccount } from '../contract.ts';
import { requireAccount } from '../overview.ts';
import type { RouteParts } from '../parts.ts';
import { revokeToken } from '../token.ts';
import type { RouteHandlers } from '../visit.ts';
import { adminAccount } from './account-view.ts';

type ActRoutes =
  `POST /api/console/admin/accounts/{id}/${'enable' | 'disable' | 'promote' | 'demote' | 'revoke-token' | 'reset-link' | 'reset-password'}`;

const nothing = z.strictObject({});

/** What an admin can do to an account besides money. A user whose role changes has to sign in again. */
export function accountActRoutes(parts: RouteParts): Pick<RouteHandlers, ActRoutes> {
  const change = (id: string, changes: Change): Promise<AdminAccount> => changeAccount(parts, id, changes);
  return {
    'POST /api/console/admin/accounts/{id}/enable': {
      body: nothing,
      handle: ({ params }) => change(params.id, { status: 'active' }),
    },
    'POST /api/console/admin/accounts/{id}/disable': {
      body: nothing,
      handle: ({ params }) => change(params.id, { status: 'disabled' }),
    },
    'POST /api/console/admin/accounts/{id}/promote': {
      body: nothing,
      handle: ({ params }) => change(params.id, { role: 'admin' }),
    },
    'POST /api/console/admin/accounts/{id}/demote': {
      body: nothing,
      handle: ({ params }) => change(params.id, { role: 'user' }),
    },
    'POST /api/console/admin/accounts/{id}/revoke-token': {
      body: nothing,
      async handle({ params }) {
        await requireAccount(parts, params.id);
        await revokeToken(parts, params.id);
        return adminAccount(await requireAccount(parts, params.id), parts.clock.now());
      },
    },
    'POST /api/console/admin/accounts/{id}/reset-link': {
      body: nothing,
      handle: ({ params, visitor }) =>
        parts.auth.resetLinks.make({
          accountId: params.id,
          createdBy: visitor.accountId,
          lifeMs: RESET_LIFE_MS,
        }),
    },
    'POST /api/console/admin/accounts/{id}/reset-password': {
      body: nothing,
      async handle({ params }) {
        const password = randomPart(16);
        await parts.auth.users.setPassword(params.id, password);
        return { password };
      },
    },
  };
}

type Change = { readonly status: 'active' | 'disabled' } | { readonly role: 'user' | 'admin' };

async function changeAccount(parts: RouteParts, id: string, changes: Change): Promise<AdminAccount> {
  const { store, clock } = parts;
  await requireAccount(parts, id);
  await store.db.transaction().execute(async (tx) => {
    await lockAdmins(tx, clock.now());
    await tx.updateTable('account').set(changes).where('id', '=', id).where('role', '!=', 'system').execute();
    await requireAnAdmin(tx);
    await tx.deleteFrom('auth_session').where('userId', '=', id).execute();
  });
  await store.durable();
  return adminAccount(await requireAccount(parts, id), clock.now());
}

/** Checked after the change and under the lock: two admins who demote each other at once cannot both succeed. */
async function requireAnAdmin(tx: Transaction<Schema>): Promise<void> {
  const left = await tx
    .selectFrom('account')
    .select('id')
    .where(sql<boolean>`role = 'admin'`)
    .where('status', '=', 'active')
    .limit(1)
    .executeTakeFirst();
  if (!left) throw new AuthRefusal('last_admin', 'This is the last admin; there must always be one.');
}
