import { z } from 'zod';
import { batchPage, type BatchRow } from '../../activity/code-batches.ts';
import { MAX_BATCH_NAME } from '../../ledger/codes.ts';
import { removeInvite, makeInvite, type InviteRow } from '../../identity/sign-in/invites.ts';
import { readUsd, usd } from '../amounts.ts';
import type { AdminCodeBatch, AdminInvite, AdminMadeCodes, Page } from '../contract.ts';
import { limitOf, markCursor, pageOf, pagingSchema } from '../paging.ts';
import { route } from '../route.ts';

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
    async handle({ store, reader }, { query }): Promise<Page<AdminCodeBatch>> {
      const limit = limitOf(query);
      const page = { before: markCursor(query.cursor), limit: limit + 1 };
      const rows = await batchPage({ db: store.db, reader }, page);
      return pageOf(rows, limit, {
        item: batchItem,
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
      return pageOf(rows, limit, {
        item: inviteItem,
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
      return { invite: inviteItem(row), code };
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

function batchItem(row: BatchRow): AdminCodeBatch {
  const { batch, count, redeemed, createdBy, createdAt, expiresAt } = row;
  return { batch, amountUsd: usd(row.amount), count, redeemed, createdBy, createdAt, expiresAt };
}

function inviteItem(row: InviteRow): AdminInvite {
  return {
    id: row.code_hash,
    hint: row.hint,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    usedBy: row.used_by,
    usedAt: row.used_at,
  };
}
