import type { Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

/** Where a page of the gallery ends; the images of one request have the same time, so the id orders them. */
export interface GalleryCursor {
  readonly at: number;
  readonly id: string;
}

/** An account's generated images that are still kept, newest first, without their bytes. */
export function galleryPage(
  { db, reader }: { db: Kysely<Schema>; reader: Reader },
  accountId: string,
  page: { readonly before?: GalleryCursor | undefined; readonly limit: number; readonly now: number },
) {
  const { before } = page;
  let query = db
    .selectFrom('image')
    .select(['id', 'request_id', 'mime', 'size', 'prompt', 'created_at', 'expires_at'])
    .where('account_id', '=', accountId)
    .where('expires_at', '>', page.now);
  if (before) {
    query = query
      .where('created_at', '<=', before.at)
      .where((where) => where.or([where('created_at', '<', before.at), where('id', '<', before.id)]));
  }
  return reader.all(query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(page.limit));
}
