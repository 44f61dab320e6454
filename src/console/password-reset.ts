import { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import type { RouteParts } from './parts.ts';
import type { RouteHandlers } from './visit.ts';

type ResetRoutes = `POST /api/console/password-reset${'' | '/check'}`;

const token = z.string().max(100);

/** For a user with a reset link who is not signed in: whether the link is valid, and setting the new password. */
export function passwordResetRoutes({ auth, clock }: RouteParts): Pick<RouteHandlers, ResetRoutes> {
  return {
    'POST /api/console/password-reset/check': {
      body: z.strictObject({ token }),
      async handle({ body, meta }) {
        auth.throttle.act('reset', meta.address);
        const link = await auth.resetLinks.check(body.token);
        return { valid: link !== undefined, email: link?.email ?? null, expiresAt: link?.expiresAt ?? null };
      },
    },
    'POST /api/console/password-reset': {
      body: z.strictObject({ token, password: z.string().min(1).max(1_024) }),
      async handle({ body, meta }) {
        auth.throttle.act('reset', meta.address);
        const { email } = await auth.resetLinks.use(body, async (tx, { accountId, createdBy }) => {
          const entry = {
            actor: accountId,
            action: 'account.reset-link.used',
            target: accountId,
            detail: { madeBy: createdBy, address: meta.address },
          };
          await writeAudit({ db: tx }, entry, clock.now());
        });
        return { email };
      },
    },
  };
}
