import { galleryPage } from '../activity/gallery.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { imageBytesOf, type ReadImage } from '../activity/image-store.ts';
import type { ImageGallery } from './contract.ts';
import { limitOf, markCursor, pageOf, pagingSchema } from './paging.ts';
import { route } from './route.ts';

/** Types a browser shows as a picture and nothing else; anything else a backend called an image is only downloaded. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']);

/** The account's generated images. */
export const imageRoutes = [
  route('GET /api/console/images', {
    who: 'user',
    query: pagingSchema,
    async handle({ store, reader, clock, imageQuotaBytes }, { user, query }): Promise<ImageGallery> {
      const limit = limitOf(query);
      const before = markCursor(query.cursor);
      const page = { before, limit: limit + 1, now: clock.now() };
      const rows = await galleryPage({ db: store.db, reader }, user.accountId, page);
      const shown = pageOf(rows, limit, {
        item: (row) => ({
          id: row.id,
          requestId: row.request_id,
          mime: row.mime,
          bytes: row.size,
          prompt: row.prompt,
          at: row.created_at,
          expiresAt: row.expires_at,
          src: `/api/console/images/${encodeURIComponent(row.id)}`,
          thumbnail: `/api/console/images/${encodeURIComponent(row.id)}/thumbnail`,
        }),
        cursor: (row) => `${row.created_at}.${row.id}`,
      });
      return {
        ...shown,
        usedBytes: await imageBytesOf(store.db, user.accountId),
        quotaBytes: imageQuotaBytes,
      };
    },
  }),
  route('GET /api/console/images/{id}', {
    who: 'user',
    async handle({ images }, { user, params }) {
      return answerImage(await images.readOwn(user.accountId, params.id));
    },
  }),
  route('GET /api/console/images/{id}/thumbnail', {
    who: 'user',
    async handle({ images }, { user, params }) {
      return answerImage(await images.thumbnail(user.accountId, params.id));
    },
  }),
  route('DELETE /api/console/images/{id}', {
    who: 'user',
    async handle({ images }, { user, params }) {
      if (!(await images.remove(user.accountId, params.id))) throw noImage();
      return {};
    },
  }),
];

function answerImage(image: ReadImage | undefined): Response {
  if (!image) throw noImage();
  const shown = PICTURES.has(image.mime);
  return new Response(image.bytes, {
    headers: {
      'content-type': shown ? image.mime : 'application/octet-stream',
      'content-disposition': shown ? 'inline' : 'attachment',
      'cache-control': 'private, max-age=3600, immutable',
    },
  });
}

function noImage(): AuthRefusal {
  return new AuthRefusal('not_found', 'There is no such image.');
}
