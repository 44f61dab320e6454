import { z } from 'zod';
import { batchPage, type BatchRow } from '../../activity/code-batches.ts';
import { emailsOf } from '../../activity/accounts.ts';
import { AuthRefusal } from '../../identity/sign-in/refusal.ts';
import { MAX_BATCH_NAME } from '../../ledger/codes.ts';
import { removeInvite, makeInvite, type InviteRow } from '../../identity/sign-in/invites.ts';
import { readUsd, usd } from '../amounts.ts';
import type { AdminCodeBatch, AdminInvite, AdminMadeCodes, Page } from '../contract.ts';
import { limitOf, markCursor, pageOf, pagingSchema } from '../paging.ts';
import { emptyBody, route } from '../route.ts';

const expiresAt = z.number().int().positive().max(8_640_000_000_000_000).nullish();
const makeSchema = z.strictObject({
  amountUsd: z.string().max(30),
  count: z.number().int().min(1).max(1_000),
  /** A name for the list; made up when absent. */
  batch: z.string().trim().max(MAX_BATCH_NAME).optional(),
  expiresAt,
});

/** Codes that are worth money, and invites that are worth an account. */
export const codeRoutes = [
  route('GET /api/console/admin/codes', {
    who: 'admin',
    compressed: true,
    query: pagingSchema,
    async handle({ store, reader, clock }, { query }): Promise<Page<AdminCodeBatch>> {
      const limit = limitOf(query);
      const page = { before: markCursor(query.cursor), limit: limit + 1, now: clock.now() };
      const rows = await batchPage({ db: store.db, reader }, page);
      const emails = await emailsOf(
        store.db,
        rows.map((row) => row.createdBy),
      );
      return pageOf(rows, limit, {
        item: (row) => batchItem(row, emails),
        cursor: (row) => `${row.createdAt}.${row.mark}`,
      });
    },
  }),
  route('POST /api/console/admin/codes', {
    who: 'admin',
    confirmed: true,
    audit: 'codes.make',
    body: makeSchema,
    async handle(parts, { user, body }): Promise<AdminMadeCodes> {
      const amount = readUsd(body.amountUsd, 'amountUsd');
      const { batch, codes } = await parts.codes.make({
        amount,
        count: body.count,
        batch: body.batch,
        expiresAt: body.expiresAt ?? undefined,
        actor: user.accountId,
      });
      return { batch, amountUsd: usd(amount), codes: [...codes] };
    },
  }),
  /** What was redeemed stays redeemed. */
  route('POST /api/console/admin/codes/{id}/cancel', {
    who: 'admin',
    audit: 'codes.cancel',
    body: emptyBody,
    handle: async ({ codes }, { params }): Promise<{ cancelled: number }> => {
      const cancelled = await codes.cancel(params.id);
      if (cancelled === 0)
        throw new AuthRefusal('not_found', 'This batch has no code that could be redeemed.');
      return { cancelled };
    },
  }),
  route('GET /api/console/admin/invites', {
    who: 'admin',
    query: pagingSchema,
    async handle({ store }, { query }): Promise<Page<AdminInvite>> {
      const limit = limitOf(query);
      const before = markCursor(query.cursor);
      let invites = store.db.selectFrom('invite').selectAll();
      if (before) {
        invites = invites
          .where('created_at', '<=', before.at)
          .where((where) =>
            where.or([where('created_at', '<', before.at), where('code_hash', '<', before.id)]),
          );
      }
      const rows = await invites
        .orderBy('created_at', 'desc')
        .orderBy('code_hash', 'desc')
        .limit(limit + 1)
        .execute();
      const emails = await emailsOf(
        store.db,
        rows.flatMap((row) => [row.created_by, row.used_by ?? row.created_by]),
      );
      return pageOf(rows, limit, {
        item: (row) => inviteItem(row, emails),
        cursor: (row) => `${row.created_at}.${row.code_hash}`,
      });
    },
  }),
  /** The code is shown once; `/sign-up?invite=…` is the link. */
  route('POST /api/console/admin/invites', {
    who: 'admin',
    audit: 'invite.make',
    body: z.strictObject({ expiresAt }),
    async handle({ store, clock }, { user, body }) {
      const invite = { createdBy: user.accountId, expiresAt: body.expiresAt ?? null, now: clock.now() };
      const { code, row } = await makeInvite(store, invite);
      const emails = await emailsOf(store.db, [user.accountId]);
      return { invite: inviteItem(row, emails), code };
    },
  }),
  route('DELETE /api/console/admin/invites/{id}', {
    who: 'admin',
    audit: 'invite.remove',
    async handle({ store }, { params }) {
      await removeInvite(store, params.id);
      return {};
    },
  }),
];

type Emails = ReadonlyMap<string, string>;

function batchItem(row: BatchRow, emails: Emails): AdminCodeBatch {
  const { batch, count, redeemed, open, createdAt, expiresAt } = row;
  const createdBy = emails.get(row.createdBy) ?? row.createdBy;
  return { batch, amountUsd: usd(row.amount), count, redeemed, open, createdBy, createdAt, expiresAt };
}

function inviteItem(row: InviteRow, emails: Emails): AdminInvite {
  return {
    id: row.code_hash,
    hint: row.hint,
    createdBy: emails.get(row.created_by) ?? row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    usedBy: row.used_by === null ? null : (emails.get(row.used_by) ?? row.used_by),
    usedAt: row.used_at,
  };
}
