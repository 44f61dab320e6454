import { z } from 'zod';
import { RESET_LIFE_MS } from '../../identity/sign-in/reset.ts';
import { removeAccount } from '../../identity/accounts/removal.ts';
import { lockAdmins, requireAnAdmin } from '../../identity/sign-in/setup.ts';
import { randomPart } from '../../std/ids.ts';
import type { AdminAccount } from '../contract.ts';
import { requireAccount } from '../overview.ts';
import type { RouteParts } from '../parts.ts';
import { revokeToken } from '../token.ts';
import { emptyBody, route } from '../route.ts';
import { adminAccount } from './accounts.ts';

/** What an admin can do to an account besides money. A user whose role changes has to sign in again. */
export const accountActRoutes = [
  route('POST /api/console/admin/accounts/{id}/enable', {
    who: 'admin',
    audit: 'account.enable',
    body: emptyBody,
    handle: (parts, { params }) => changeAccount(parts, params.id, { status: 'active', paused_reason: null }),
  }),
  /** Ends its sessions too; its token is refused from now on. */
  route('POST /api/console/admin/accounts/{id}/disable', {
    who: 'admin',
    audit: 'account.disable',
    body: emptyBody,
    handle: (parts, { params }) =>
      changeAccount(parts, params.id, { status: 'disabled', paused_reason: null }),
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
  /** Cannot be undone. Its books stay under its id; a balance that is left is written off with a reason. */
  route('POST /api/console/admin/accounts/{id}/remove', {
    who: 'admin',
    confirmed: true,
    audit: 'account.remove',
    body: z.strictObject({ reason: z.string().trim().min(1).max(200).optional() }),
    async handle(parts, { params, user, body }) {
      await removeAccount(parts, { accountId: params.id, reason: body.reason, actor: user.accountId });
      return adminAccount(await requireAccount(parts, params.id), parts.clock.now());
    },
  }),
];

type Change =
  | { readonly status: 'active' | 'disabled'; readonly paused_reason: null }
  | { readonly role: 'user' | 'admin' };

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
