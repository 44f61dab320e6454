import { z } from 'zod';
import { emptyBody, route } from './route.ts';

/** Confirming the address of an account, by a link that was sent to it. */
export const addressRoutes = [
  /** The token comes after the `#` of the link and travels in bodies only. */
  route('POST /api/console/verify-email', {
    who: 'public',
    body: z.strictObject({ token: z.string().max(200) }),
    async handle({ auth }, { body, meta }): Promise<{ verified: boolean }> {
      auth.throttle.act('reset', meta.address);
      return { verified: await auth.mails.verify(body.token) };
    },
  }),
  route('POST /api/console/verify-email/send', {
    who: 'user',
    body: emptyBody,
    async handle({ auth, store }, { user }) {
      auth.throttle.act('verification', user.accountId);
      await auth.mails.sendVerification(store.db, user);
      return { sent: auth.mails.areSent };
    },
  }),
];
