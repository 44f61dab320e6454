import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import type { Store } from '../store/store.ts';
import type { KeptReceiptLink } from './contract.ts';

/** Of one account, as long as they have not expired. */
export const MAX_RECEIPT_LINKS = 200;

interface NewLink {
  readonly id: string;
  readonly accountId: string;
  readonly requestId: string;
  readonly expiresAt: number;
  readonly now: number;
}

/** Writes down a link that was made. Those of the account that have expired go meanwhile. */
export async function keepReceiptLink(store: Store, link: NewLink): Promise<void> {
  const { id, accountId, requestId, expiresAt, now } = link;
  await store.db.transaction().execute(async (tx) => {
    await tx
      .deleteFrom('receipt_link')
      .where('account_id', '=', accountId)
      .where('expires_at', '<=', now)
      .execute();
    const { links } = await tx
      .selectFrom('receipt_link')
      .select(({ fn }) => fn.countAll<number>().as('links'))
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow();
    if (links >= MAX_RECEIPT_LINKS)
      throw new AuthRefusal(
        'conflict',
        `There may be ${MAX_RECEIPT_LINKS} links at once. Wait until one expires.`,
      );
    await tx
      .insertInto('receipt_link')
      .values({
        id,
        account_id: accountId,
        request_id: requestId,
        created_at: now,
        expires_at: expiresAt,
      })
      .execute();
  });
  await store.durable();
}

/** The links of an account that have not expired, newest first; ended ones among them. */
export async function receiptLinksOf(
  { db }: Store,
  accountId: string,
  now: number,
): Promise<readonly KeptReceiptLink[]> {
  const rows = await db
    .selectFrom('receipt_link')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(MAX_RECEIPT_LINKS)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    requestId: row.request_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    endedAt: row.ended_at,
  }));
}

/** False: the account has no such link. One that was ended before stays as it is. */
export async function endReceiptLink(
  store: Store,
  { id, accountId, now }: Pick<NewLink, 'id' | 'accountId' | 'now'>,
): Promise<boolean> {
  const row = await store.db
    .selectFrom('receipt_link')
    .select('id')
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  if (!row) return false;
  await store.db
    .updateTable('receipt_link')
    .set({ ended_at: now })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
  await store.durable();
  return true;
}

/** `undefined`: there is no such link any more. */
export async function receiptLinkState({ db }: Store, id: string): Promise<'open' | 'ended' | undefined> {
  const row = await db.selectFrom('receipt_link').select('ended_at').where('id', '=', id).executeTakeFirst();
  return row && (row.ended_at === null ? 'open' : 'ended');
}
