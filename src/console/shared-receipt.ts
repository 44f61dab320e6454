import { z } from 'zod';
import { requestById } from '../activity/request-log.ts';
import { Fault } from '../std/fault.ts';
import { RETRY_OF } from '../ledger/port.ts';
import { endReceiptLink, keepReceiptLink, receiptLinksOf, receiptLinkState } from './receipt-links.ts';
import type { RouteParts } from './parts.ts';
import { receiptDetail } from './receipt.ts';
import { route } from './route.ts';

/**
 * A receipt for others: whoever has its link sees it until the link expires, is ended, or the account is closed, and
 * sees nothing about its owner, the client or other requests.
 */
export const sharedReceiptRoutes = [
  route('POST /api/console/requests/{id}/share', {
    who: 'user',
    body: z.strictObject({ days: z.union([z.literal(1), z.literal(7), z.literal(30)]) }),
    async handle({ store, receiptLinks, clock }, { user, params, body }) {
      const row = await requestById(store.db, params.id, user.accountId);
      if (!row) throw new Fault('not_found', 'There is no such request.');
      const { code, ...link } = receiptLinks.create(row.id, body.days);
      const { id, requestId, expiresAt } = link;
      await keepReceiptLink(store, {
        id,
        requestId,
        expiresAt,
        accountId: user.accountId,
        now: clock.now(),
      });
      // A browser never sends the fragment to a server.
      return { id, path: `/receipt#${code}`, expiresAt };
    },
  }),
  route('GET /api/console/receipt-links', {
    who: 'user',
    async handle({ store, clock }, { user }) {
      return { items: await receiptLinksOf(store, user.accountId, clock.now()) };
    },
  }),
  route('DELETE /api/console/receipt-links/{id}', {
    who: 'user',
    async handle({ store, clock }, { user, params }) {
      const ended = await endReceiptLink(store, {
        id: params.id,
        accountId: user.accountId,
        now: clock.now(),
      });
      if (!ended) throw new Fault('not_found', 'There is no such link.');
      return {};
    },
  }),
  /** The code comes after the `#` of the link and travels in bodies only, so that no log has it. */
  route('POST /api/console/shared-receipt', {
    who: 'public',
    body: z.strictObject({ code: z.string().max(200) }),
    async handle(parts, { body }) {
      const link = parts.receiptLinks.open(body.code);
      const state = link?.id === undefined ? 'open' : await receiptLinkState(parts.store, link.id);
      const row = link && state && (await sharedRow(parts, link.requestId));
      if (!row) throw new Fault('not_found', 'This link is not valid, or it has expired.');
      if (state === 'ended') throw new Fault('link_ended', 'The owner of this receipt has ended the link.');
      const { client: _client, ...receipt } = receiptDetail(row, parts.catalog.current());
      const attempts = receipt.attempts.filter(({ reason }) => reason?.startsWith(RETRY_OF) !== true);
      return { ...receipt, attempts, expiresAt: link.expiresAt };
    },
  }),
];

async function sharedRow({ store }: RouteParts, requestId: string) {
  const row = await requestById(store.db, requestId);
  if (!row) return undefined;
  const owner = await store.db
    .selectFrom('account')
    .select('status')
    .where('id', '=', row.account_id)
    .executeTakeFirst();
  return owner?.status === 'active' ? row : undefined;
}
