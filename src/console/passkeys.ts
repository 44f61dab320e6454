import { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import { passkeysOf, removePasskey, renamePasskey } from '../identity/sign-in/passkey.ts';
import { passkeyName } from '../identity/sign-in/routes.ts';
import type { RouteParts } from './parts.ts';
import type { RouteHandlers } from './visit.ts';

type PasskeyRoutes =
  | 'GET /api/console/passkeys'
  | 'PATCH /api/console/passkeys/{id}'
  | 'DELETE /api/console/passkeys/{id}';

/** The passkeys of an account. Adding one is a ceremony of its own, under /api/auth/passkey. */
export function passkeyRoutes({ store, clock }: RouteParts): Pick<RouteHandlers, PasskeyRoutes> {
  return {
    'GET /api/console/passkeys': {
      handle: async ({ visitor }) => ({ items: await passkeysOf(store, visitor.accountId) }),
    },
    'PATCH /api/console/passkeys/{id}': {
      body: z.strictObject({ name: passkeyName }),
      async handle({ visitor, params, body }) {
        await renamePasskey(store, { accountId: visitor.accountId, id: params.id }, body.name);
        return {};
      },
    },
    'DELETE /api/console/passkeys/{id}': {
      async handle({ visitor, params }) {
        await removePasskey(store, { accountId: visitor.accountId, id: params.id });
        const entry = { actor: visitor.accountId, action: 'passkey.remove', target: params.id, detail: {} };
        if (visitor.role === 'admin') await writeAudit(store, entry, clock.now());
        return {};
      },
    },
  };
}
