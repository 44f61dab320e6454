import { z } from 'zod';
import { galleryFacets, galleryPage } from '../activity/gallery.ts';
import { Fault } from '../std/fault.ts';
import { imageBytesOf, type KeptImage } from '../activity/image-store.ts';
import { storedFileAnswer } from '../http/response.ts';
import type { Page, Millis } from './contract.ts';
import { limitOf, markCursor, pageOf, pagingFields } from './table-query.ts';
import { route } from './route.ts';
import { foundInOwn, walletRoute } from './wallet.ts';

/** Types a browser shows as a picture and nothing else; anything else a backend called an image is only downloaded. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']);
/** The number of images on a page of the list. */
const MAX_DELETED = 200;

const galleryFields = {
  ...pagingFields,
  /** Words of the prompt or of the model's name. */
  q: z.string().max(200).optional(),
  model: z.string().min(1).max(256).optional(),
  size: z
    .string()
    .regex(/^\d{1,5}x\d{1,5}$/, { error: 'a size looks like 1024x1024' })
    .optional(),
  from: z
    .string()
    .regex(/^\d{1,15}$/, { error: 'a time is milliseconds since 1970' })
    .optional(),
};

/** The account's generated images. */
export const imageRoutes = [
  walletRoute('GET /api/console/images', {
    right: 'see_own',
    compressed: true,
    query: galleryFields,
    async handle({ store, reader, clock, imageQuotaBytes }, { spenderId }, { query }): Promise<ImageGallery> {
      const limit = limitOf(query);
      const [width, height] = query.size?.split('x').map(Number) ?? [];
      const rows = await galleryPage({ store, reader }, spenderId, {
        before: markCursor(query.cursor),
        limit: limit + 1,
        now: clock.now(),
        text: query.q,
        model: query.model,
        pixels: width === undefined || height === undefined ? undefined : { width, height },
        from: query.from === undefined ? undefined : Number(query.from),
      });
      const shown = pageOf(rows, limit, { item: imageItem, cursor: (row) => `${row.created_at}.${row.id}` });
      return {
        ...shown,
        usedBytes: await imageBytesOf(store.db, spenderId),
        quotaBytes: imageQuotaBytes,
      };
    },
  }),
  /** What the gallery can be filtered by, the most frequent first. */
  walletRoute('GET /api/console/image-facets', {
    right: 'see_own',
    async handle({ store, reader, clock }, { spenderId }) {
      const rows = await galleryFacets({ store, reader }, spenderId, clock.now());
      const sizeOf = ({ width, height }: (typeof rows)[number]) =>
        width === null || height === null ? undefined : `${width}x${height}`;
      return {
        total: rows.reduce((sum, { images }) => sum + images, 0),
        models: countedBy(rows, ({ model }) => model ?? undefined).map(([model, images]) => ({
          model,
          images,
        })),
        sizes: countedBy(rows, sizeOf).map(([size, images]) => ({ size, images })),
      };
    },
  }),
  route('GET /api/console/images/{id}', {
    who: 'user',
    async handle(parts, { request, user, params }) {
      const find = (owner: string) => parts.images.findOwn(owner, params.id);
      return await answerImage(await foundInOwn(parts, user, find), request);
    },
  }),
  route('GET /api/console/images/{id}/thumbnail', {
    who: 'user',
    async handle(parts, { request, user, params }) {
      const find = (owner: string) => parts.images.thumbnail(owner, params.id);
      return await answerImage(await foundInOwn(parts, user, find), request);
    },
  }),
  route('DELETE /api/console/images/{id}', {
    who: 'user',
    async handle(parts, { user, params }) {
      const remove = async (owner: string) => (await parts.images.remove(owner, params.id)) || undefined;
      if (!(await foundInOwn(parts, user, remove))) throw noImage();
      return {};
    },
  }),
  walletRoute('POST /api/console/image-deletions', {
    right: 'see_own',
    body: z.strictObject({ ids: z.array(z.string().min(1).max(100)).min(1).max(MAX_DELETED) }),
    async handle({ images }, { spenderId }, { body }): Promise<{ deleted: number }> {
      return { deleted: await images.removeSome(spenderId, body.ids) };
    },
  }),
];

/** The newest images first; when they need more room than there is, the oldest are deleted. */
interface ImageGallery extends Page<ImageItem> {
  /** What all of the account's images occupy, and may. */
  usedBytes: number;
  quotaBytes: number;
}

type GalleryRow = Awaited<ReturnType<typeof galleryPage>>[number];

interface ImageItem extends ReturnType<typeof imagePaths> {
  id: string;
  requestId: string;
  mime: string;
  bytes: number;
  prompt: string;
  at: Millis;
  expiresAt: Millis;
  /** In pixels; null where the format does not say. */
  width: number | null;
  height: number | null;
  endpoint: string | null;
  model: string | null;
  /** What else the request said, by the names of the API; `pictures` is how many it started from. */
  parameters: Record<string, string | number | boolean>;
}

function imageItem(row: GalleryRow): ImageItem {
  // The image store's own JSON, of a flat object.
  const said = JSON.parse(row.parameters ?? '{}') as ImageItem['parameters'];
  const { endpoint, model, ...parameters } = said;
  return {
    id: row.id,
    requestId: row.request_id,
    mime: row.mime,
    bytes: row.size,
    prompt: row.prompt,
    at: row.created_at,
    expiresAt: row.expires_at,
    width: row.width,
    height: row.height,
    endpoint: endpoint === undefined ? null : String(endpoint),
    model: model === undefined ? null : String(model),
    parameters,
    ...imagePaths(row.id),
  };
}

/** Where an image of the account is, on this origin, and a small picture of it; both need the session. */
export function imagePaths(id: string) {
  const src = `/api/console/images/${encodeURIComponent(id)}`;
  return { src, thumbnail: `${src}/thumbnail` };
}

/** The values with the images that have them, the most first; rows without a value do not count. */
function countedBy<Row extends { readonly images: number }>(
  rows: readonly Row[],
  valueOf: (row: Row) => string | undefined,
): [value: string, images: number][] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = valueOf(row);
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + row.images);
  }
  return [...counts].toSorted((a, b) => b[1] - a[1]);
}

async function answerImage(image: KeptImage | undefined, request: Request): Promise<Response> {
  if (!image) throw noImage();
  const shown = PICTURES.has(image.mime);
  const answer = await storedFileAnswer(image, request, {
    'content-type': shown ? image.mime : 'application/octet-stream',
    'content-disposition': shown ? 'inline' : 'attachment',
    'cache-control': 'private, max-age=3600, immutable',
  });
  if (!answer) throw noImage();
  return answer;
}

function noImage(): Fault {
  return new Fault('not_found', 'There is no such image.');
}
