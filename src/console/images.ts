import { galleryImage, galleryPage, removeImage } from '../activity/gallery.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { limitOf, markCursor, pageOf, pagingSchema } from './paging.ts';
import type { RouteParts } from './parts.ts';
import type { RouteHandlers } from './visit.ts';

type ImageRoutes =
  | 'GET /api/console/images'
  | 'GET /api/console/images/{id}'
  | 'DELETE /api/console/images/{id}';

/** Types a browser shows as a picture and nothing else; anything else a backend called an image is only downloaded. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']);

/** The account's generated images. */
export function imageRoutes({ store, reader, clock }: RouteParts): Pick<RouteHandlers, ImageRoutes> {
  return {
    'GET /api/console/images': {
      query: pagingSchema,
      async handle({ visitor, query }) {
        const limit = limitOf(query);
        const before = markCursor(query.cursor);
        const page = { before, limit: limit + 1, now: clock.now() };
        const rows = await galleryPage({ db: store.db, reader }, visitor.accountId, page);
        return pageOf(rows, limit, {
          item: (row) => ({
            id: row.id,
            requestId: row.request_id,
            mime: row.mime,
            bytes: row.size,
            prompt: row.prompt,
            at: row.created_at,
            expiresAt: row.expires_at,
            src: `/api/console/images/${encodeURIComponent(row.id)}`,
          }),
          cursor: (row) => `${row.created_at}.${row.id}`,
        });
      },
    },
    'GET /api/console/images/{id}': {
      async handle({ visitor, params }) {
        const image = await galleryImage(store.db, visitor.accountId, params.id, clock.now());
        if (!image) throw noImage();
        const shown = PICTURES.has(image.mime);
        return new Response(new Uint8Array(image.bytes), {
          headers: {
            'content-type': shown ? image.mime : 'application/octet-stream',
            'content-disposition': shown ? 'inline' : 'attachment',
            'cache-control': 'private, max-age=3600, immutable',
          },
        });
      },
    },
    'DELETE /api/console/images/{id}': {
      async handle({ visitor, params }) {
        if (!(await removeImage(store.db, visitor.accountId, params.id))) throw noImage();
        return {};
      },
    },
  };
}

function noImage(): AuthRefusal {
  return new AuthRefusal('not_found', 'There is no such image.');
}
