import { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import { passkeysOf, removePasskey, renamePasskey } from '../identity/sign-in/passkey.ts';
import { passkeyName } from '../identity/sign-in/routes.ts';
import { route } from './route.ts';

/** The passkeys of an account. Adding one is a ceremony of its own, under /api/auth/passkey. */
export const passkeyRoutes = [
  route('GET /api/console/passkeys', {
    who: 'user',
    handle: async ({ store }, { user }) => ({ items: await passkeysOf(store, user.accountId) }),
  }),
  route('PATCH /api/console/passkeys/{id}', {
    who: 'user',
    body: z.strictObject({ name: passkeyName }),
    async handle({ store }, { user, params, body }) {
      await renamePasskey(store, { accountId: user.accountId, id: params.id }, body.name);
      return {};
    },
  }),
  route('DELETE /api/console/passkeys/{id}', {
    who: 'user',
    confirmed: true,
    async handle({ store, clock }, { user, params }) {
      await removePasskey(store, { accountId: user.accountId, id: params.id });
      const entry = { actor: user.accountId, action: 'passkey.remove', target: params.id, detail: {} };
      if (user.role !== undefined) await writeAudit(store, entry, clock.now());
      return {};
    },
  }),
];
