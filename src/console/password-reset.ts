import { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import { answer } from './answers.ts';
import type { PasswordResetState } from './contract.ts';
import { authMeta, route } from './route.ts';

/** A link is `/reset-password#{token}`; the token travels in bodies only. */
const token = z.string().max(100);

/** For a user with a reset link who is not signed in: whether the link is valid, and setting the new password. */
export const passwordResetRoutes = [
  route('POST /api/console/password-reset/check', {
    who: 'public',
    body: z.strictObject({ token }),
    async handle({ auth }, { body, meta }): Promise<PasswordResetState> {
      auth.throttle.act('reset', meta.address);
      const link = await auth.resetLinks.check(body.token);
      return { valid: link !== undefined, email: link?.email ?? null, expiresAt: link?.expiresAt ?? null };
    },
  }),
  /** Works once; every session of the account ends, and a second factor is asked for at sign-in. */
  route('POST /api/console/password-reset', {
    who: 'public',
    body: z.strictObject({ token, password: z.string().min(1).max(1_024) }),
    async handle({ auth, clock }, { body, meta }): Promise<{ email: string } | Response> {
      auth.throttle.act('reset', meta.address);
      // Written here because the actor is the account itself, which has no session.
      const { email } = await auth.resetLinks.use(body, async (tx, { accountId, createdBy }) => {
        const entry = {
          actor: accountId,
          action: 'account.reset-link.used',
          target: accountId,
          detail: { madeBy: createdBy, address: meta.address },
        };
        await writeAudit({ db: tx }, entry, clock.now());
      });
      // Whoever got the link from the operator can sign in here, even while strangers guess at the account.
      return answer({ email }, meta.requestId, { 'set-cookie': auth.devices.cookie(email, authMeta(meta)) });
    },
  }),
];
