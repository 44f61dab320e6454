import { z } from 'zod';
import { ResponseSpace } from '../activity/response-space.ts';
import { textStream } from '../activity/csv.ts';
import { accountExport } from '../activity/export.ts';
import { MAX_NAME } from '../identity/sign-in/users.ts';
import { readUsd, usd } from './amounts.ts';
import { requireAccount } from './overview.ts';
import type { RouteParts } from './parts.ts';
import { route, emptyBody } from './route.ts';

const patchSchema = z.strictObject({
  name: z.string().trim().max(MAX_NAME).optional(),
  language: z
    .string()
    .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/, { error: 'a language is a tag like en or pt-BR' })
    .nullish(),
  theme: z.enum(['system', 'light', 'dark']).optional(),
  lowBalanceUsd: z.string().max(30).nullish(),
  storesResponses: z.boolean().optional(),
});

/** A user's console preferences. */
export const settingsRoutes = [
  route('GET /api/console/settings', {
    who: 'user',
    handle: (parts, { user }) => readSettings(parts, user.accountId),
  }),
  route('PATCH /api/console/settings', {
    who: 'user',
    body: patchSchema,
    async handle(parts, { user, body }) {
      await writeSettings(parts, user.accountId, body);
      return readSettings(parts, user.accountId);
    },
  }),
];

async function readSettings(parts: RouteParts, accountId: string) {
  const { db } = parts.store;
  const [account, user, preference] = await Promise.all([
    requireAccount(parts, accountId),
    db.selectFrom('auth_user').select('name').where('id', '=', accountId).executeTakeFirst(),
    db.selectFrom('preference').selectAll().where('account_id', '=', accountId).executeTakeFirst(),
  ]);
  return {
    name: user?.name ?? '',
    language: preference?.language ?? null,
    theme: preference?.theme ?? 'system',
    /** Warn below this balance; null: no warning. */
    lowBalanceUsd: account.low_balance === null ? null : usd(account.low_balance),
    /** Whether clients of the Responses API may store their answers. */
    storesResponses: !(await new ResponseSpace(parts).isOff(accountId)),
  };
}

async function writeSettings(
  { store, clock }: RouteParts,
  accountId: string,
  patch: z.output<typeof patchSchema>,
): Promise<void> {
  const { db } = store;
  if (patch.name !== undefined) {
    await db
      .updateTable('auth_user')
      .set({ name: patch.name.normalize('NFKC') })
      .where('id', '=', accountId)
      .execute();
  }
  if (patch.lowBalanceUsd !== undefined) {
    const threshold = patch.lowBalanceUsd === null ? null : readUsd(patch.lowBalanceUsd, 'lowBalanceUsd');
    await db.updateTable('account').set({ low_balance: threshold }).where('id', '=', accountId).execute();
  }
  if (patch.storesResponses !== undefined) {
    const space = new ResponseSpace({ store, clock });
    await (patch.storesResponses ? space.switchOn(accountId) : space.switchOff(accountId));
  }
  if (patch.language === undefined && patch.theme === undefined) return;
  const changed = {
    ...(patch.language === undefined ? {} : { language: patch.language }),
    ...(patch.theme === undefined ? {} : { theme: patch.theme }),
  };
  await db
    .insertInto('preference')
    .values({ account_id: accountId, language: null, theme: 'system', ...changed })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(changed))
    .execute();
}

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

/** All that is kept about the account, as JSON lines, streamed. */
export const exportRoutes = [
  route('GET /api/console/export', {
    who: 'user',
    async handle(parts, { user }) {
      // It reads everything; nobody needs it often.
      parts.auth.throttle.act('export', user.accountId);
      const account = await requireAccount(parts, user.accountId);
      const lines = accountExport({ db: parts.store.db, reader: parts.reader }, account);
      return new Response(textStream(lines), {
        headers: {
          'content-type': 'application/x-ndjson; charset=utf-8',
          'content-disposition': 'attachment; filename="tollgate-export.jsonl"',
          'cache-control': 'no-store',
        },
      });
    },
  }),
];
