import { createHmac, randomBytes } from 'node:crypto';
import { DAY_MS } from '../std/calendar.ts';
import { Fault } from '../std/fault.ts';
import type { Clock } from '../std/clock.ts';
import { sameSecret } from '../std/same-secret.ts';
import type { Store } from '../store/store.ts';

/** Links of earlier versions have no id; the last of them expires thirty days after the upgrade. */
const SHAPE = /^(req_[0-9A-Za-z]{24})\.([0-9a-z]{1,8})(?:\.([\w-]{16}))?\.([\w-]{43})$/;

interface OpenedLink {
  readonly requestId: string;
  readonly expiresAt: number;
  /** The link's row; absent for a link that was made before links had rows. */
  readonly id: string | undefined;
}

/** Codes that open one receipt to whoever has them, until they expire. They are signed: nobody can make one from what is stored. */
export class ReceiptLinks {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  constructor({ key, clock }: { readonly key: Uint8Array; readonly clock: Clock }) {
    this.#key = key;
    this.#clock = clock;
  }

  create(
    requestId: string,
    days: number,
  ): Required<OpenedLink> & { readonly id: string; readonly code: string } {
    const expires = Math.floor((this.#clock.now() + days * DAY_MS) / 1000);
    const id = randomBytes(12).toString('base64url');
    const signed = `${requestId}.${expires.toString(36)}.${id}`;
    return { requestId, id, code: `${signed}.${this.#sign(signed)}`, expiresAt: expires * 1000 };
  }

  /** `undefined`: we did not make this code, or it has expired. */
  open(code: string): OpenedLink | undefined {
    const [, requestId, expires, id, signature] = SHAPE.exec(code) ?? [];
    if (requestId === undefined || expires === undefined || signature === undefined) return undefined;
    const expected = this.#sign([requestId, expires, ...(id === undefined ? [] : [id])].join('.'));
    if (!sameSecret(signature, expected)) return undefined;
    const expiresAt = Number.parseInt(expires, 36) * 1000;
    return expiresAt > this.#clock.now() ? { requestId, expiresAt, id } : undefined;
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

/** The most links of one account that have not expired. */
export const MAX_RECEIPT_LINKS = 200;

interface NewLink {
  readonly id: string;
  readonly accountId: string;
  readonly requestId: string;
  readonly expiresAt: number;
  readonly now: number;
}

/** Stores a link that was made, and deletes the account's expired ones. */
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
      throw new Fault('conflict', `There may be at most ${MAX_RECEIPT_LINKS} links. Wait until one expires.`);
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
export async function receiptLinksOf({ db }: Store, accountId: string, now: number) {
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
    /** When its owner ended it; null: it works. */
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
