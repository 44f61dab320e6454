import { sql, type Kysely, type SqlBool } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { Reader } from './reader.ts';

/** Where a page of the gallery ends; the images of one request have the same time, so the id orders them. */
interface GalleryCursor {
  readonly at: number;
  readonly id: string;
}

/** Which images; every field narrows the result. */
interface GalleryFilter {
  /** Each of its words is in the prompt or in the name of the model. */
  readonly text?: string | undefined;
  readonly model?: string | undefined;
  readonly pixels?: { readonly width: number; readonly height: number } | undefined;
  /** In milliseconds, inclusive. */
  readonly from?: number | undefined;
}

interface GalleryPageRequest extends GalleryFilter {
  readonly before?: GalleryCursor | undefined;
  readonly limit: number;
  readonly now: number;
}

interface GalleryParts {
  readonly store: Pick<Store, 'db' | 'dialect'>;
  readonly reader: Reader;
}

const MAX_WORDS = 8;
const MAX_FACETS = 1_000;

/** An account's generated images that are still kept, newest first, without their bytes. */
export function galleryPage({ store, reader }: GalleryParts, accountId: string, page: GalleryPageRequest) {
  const { before, model, pixels, from } = page;
  let query = kept(store.db, accountId, page.now).select([
    'id', 'request_id', 'mime', 'size', 'prompt', 'created_at', 'expires_at', 'width', 'height', 'parameters',
  ]); // prettier-ignore
  if (before) {
    query = query
      .where('created_at', '<=', before.at)
      .where((where) => where.or([where('created_at', '<', before.at), where('id', '<', before.id)]));
  }
  if (from !== undefined) query = query.where('created_at', '>=', from);
  if (pixels) query = query.where('width', '=', pixels.width).where('height', '=', pixels.height);
  const modelName = modelOf(store);
  if (model !== undefined) query = query.where(modelName, '=', model);
  for (const word of wordsOf(page.text)) {
    const pattern = `%${word.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    query = query.where(
      sql<SqlBool>`(lower(prompt) LIKE ${pattern} ESCAPE '\\' OR lower(${modelName}) LIKE ${pattern} ESCAPE '\\')`,
    );
  }
  return reader.all(query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(page.limit));
}

/** How many images there are of each model and size. */
export function galleryFacets({ store, reader }: GalleryParts, accountId: string, now: number) {
  return reader.all(
    kept(store.db, accountId, now)
      .select([
        modelOf(store).as('model'),
        'width',
        'height',
        sql<number>`CAST(COUNT(*) AS BIGINT)`.as('images'),
      ])
      .groupBy([sql`1`, 'width', 'height'])
      .orderBy(sql`4`, 'desc')
      .limit(MAX_FACETS),
  );
}

function kept(db: Kysely<Schema>, accountId: string, now: number) {
  return db.selectFrom('image').where('account_id', '=', accountId).where('expires_at', '>', now);
}

function modelOf({ dialect }: Pick<Store, 'dialect'>) {
  return sql<string | null>`${sql.raw(dialect.plainJsonText('parameters', 'model'))}`;
}

function wordsOf(text = ''): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS);
}
