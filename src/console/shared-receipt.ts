import { z } from 'zod';
import { requestById } from '../activity/request-log.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { RETRY_OF } from '../ledger/port.ts';
import type { ReceiptLink, SharedReceipt } from './contract.ts';
import type { RouteParts } from './parts.ts';
import { receiptDetail } from './receipt.ts';
import { route } from './route.ts';

/** A receipt for others: whoever has its link sees it until the link expires or the account is closed. */
export const sharedReceiptRoutes = [
  route('POST /api/console/requests/{id}/share', {
    who: 'user',
    body: z.strictObject({ days: z.union([z.literal(1), z.literal(7), z.literal(30)]) }),
    async handle({ store, receiptLinks }, { user, params, body }): Promise<ReceiptLink> {
      const row = await requestById(store.db, params.id, user.accountId);
      if (!row) throw new AuthRefusal('not_found', 'There is no such request.');
      const { code, expiresAt } = receiptLinks.create(row.id, body.days);
      return { path: `/receipt#${code}`, expiresAt };
    },
  }),
  /** The code comes after the `#` of the link and travels in bodies only, so that no log has it. */
  route('POST /api/console/shared-receipt', {
    who: 'public',
    body: z.strictObject({ code: z.string().max(200) }),
    async handle(parts, { body }): Promise<SharedReceipt> {
      const link = parts.receiptLinks.open(body.code);
      const row = link && (await sharedRow(parts, link.requestId));
      if (!row) throw new AuthRefusal('not_found', 'This link is not valid, or it has expired.');
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
