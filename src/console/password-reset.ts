import { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import { MADE_BY_MAIL } from '../identity/sign-in/account-mails.ts';
import { wantedLanguage } from '../identity/sign-in/auth.ts';
import { normalEmail } from '../identity/sign-in/users.ts';
import { Fault } from '../std/fault.ts';
import { answer } from './answers.ts';
import { authMeta, route } from './route.ts';

/** A link is `/reset-password#{token}`; the token travels in bodies only. */
const token = z.string().max(100);

/** For a user who is not signed in: asking for a reset link, whether one is valid, and setting the new password. */
export const passwordResetRoutes = [
  /** The same answer whether or not there is such an account, and before either is known, so that it takes as long. */
  route('POST /api/console/password-reset/send', {
    who: 'public',
    body: z.strictObject({ email: z.string().max(512) }),
    async handle({ auth, log }, { body, meta, request }): Promise<{ sent: true }> {
      if (!auth.mails.areSent)
        throw new Fault('not_found', 'This server sends no mail. Ask its operator for a reset link.');
      const email = normalEmail(body.email);
      // Only a browser in which the mailbox's owner has signed in is known: to others this tells nothing.
      const device = await auth.knownDevice(email, request.headers, authMeta(meta));
      const known = device === undefined ? undefined : email;
      auth.throttle.act('reset_mail', meta.address, known);
      auth.throttle.act('reset_mailbox', email, known);
      auth.mails
        .sendReset(email, wantedLanguage(request.headers))
        .catch((error: unknown) => log.error('reset_email_failed', { error }));
      return { sent: true };
    },
  }),
  route('POST /api/console/password-reset/check', {
    who: 'public',
    body: z.strictObject({ token }),
    async handle({ auth }, { body, meta }) {
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
        // Using this link proves that a mail to the address was read.
        if (createdBy === MADE_BY_MAIL) await auth.mails.markVerified(tx, accountId);
      });
      // The owner can sign in from this browser even while strangers guess at the account.
      return answer({ email }, meta.requestId, { 'set-cookie': auth.devices.cookie(email, authMeta(meta)) });
    },
  }),
];
