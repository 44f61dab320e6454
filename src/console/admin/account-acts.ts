import { sql, type Transaction } from 'kysely';
import { AuthRefusal } from '../../identity/sign-in/refusal.ts';
import { RESET_LIFE_MS } from '../../identity/sign-in/reset.ts';
import { lockAdmins } from '../../identity/sign-in/setup.ts';
import { randomPart } from '../../std/ids.ts';
import type { Schema } from '../../store/schema.ts';
import type { AdminAccount } from '../contract.ts';
import { requireAccount } from '../overview.ts';
import type { RouteParts } from '../parts.ts';
import { revokeToken } from '../token.ts';
import { emptyBody, route } from '../route.ts';
import { adminAccount } from './account-view.ts';

/** What an admin can do to an account besides money. A user whose role changes has to sign in again. */
export const accountActRoutes = [
  route('POST /api/console/admin/accounts/{id}/enable', {
    who: 'admin',
    audit: 'account.enable',
    body: emptyBody,
    handle: (parts, { params }) => changeAccount(parts, params.id, { status: 'active' }),
  }),
  /** Ends its sessions too; its token is refused from now on. */
  route('POST /api/console/admin/accounts/{id}/disable', {
    who: 'admin',
    audit: 'account.disable',
    body: emptyBody,
    handle: (parts, { params }) => changeAccount(parts, params.id, { status: 'disabled' }),
  }),
  route('POST /api/console/admin/accounts/{id}/promote', {
    who: 'admin',
    confirmed: true,
    audit: 'account.promote',
    body: emptyBody,
    handle: (parts, { params }) => changeAccount(parts, params.id, { role: 'admin' }),
  }),
  route('POST /api/console/admin/accounts/{id}/demote', {
    who: 'admin',
    confirmed: true,
    audit: 'account.demote',
    body: emptyBody,
    handle: (parts, { params }) => changeAccount(parts, params.id, { role: 'user' }),
  }),
  route('POST /api/console/admin/accounts/{id}/revoke-token', {
    who: 'admin',
    audit: 'account.revoke-token',
    body: emptyBody,
    async handle(parts, { params }) {
      await requireAccount(parts, params.id);
      await revokeToken(parts, params.id);
      return adminAccount(await requireAccount(parts, params.id), parts.clock.now());
    },
  }),
  /** Shown once, good for an hour and for one new password; it ends the one before it. */
  route('POST /api/console/admin/accounts/{id}/reset-link', {
    who: 'admin',
    confirmed: true,
    audit: 'account.reset-link',
    body: emptyBody,
    handle: (parts, { params, user }) =>
      parts.auth.resetLinks.make({
        accountId: params.id,
        createdBy: user.accountId,
        lifeMs: RESET_LIFE_MS,
      }),
  }),
  /** Shown once. Every session ends and the second factor is off. */
  route('POST /api/console/admin/accounts/{id}/reset-password', {
    who: 'admin',
    confirmed: true,
    audit: 'account.reset-password',
    body: emptyBody,
    async handle(parts, { params }) {
      const password = randomPart(16);
      await parts.auth.users.setPassword(params.id, password);
      return { password };
    },
  }),
];

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
