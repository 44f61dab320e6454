import type { PublicPages } from './public/public-pages.ts';
import { PAGE_HEADERS, STRICT_TRANSPORT } from './security.ts';
import type { ConsoleMeta } from './route.ts';
import type { IncomingRequest } from '../http/router.ts';

export interface WebFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mime: string;
  /** The name contains a hash of the content, so it may be cached indefinitely. */
  readonly immutable: boolean;
  /** The same bytes compressed, where that saves enough. */
  readonly gzip?: Uint8Array<ArrayBuffer> | undefined;
}

interface SiteParts {
  /** The bundled pages, as a promise: the API need not wait for the bundler. */
  readonly files: Promise<ReadonlyMap<string, WebFile>>;
  /** The console's own API and sign-in, under /api/console and /api/auth. */
  readonly console: (request: Request, meta: ConsoleMeta) => Promise<Response>;
  /** What the server renders itself. */
  readonly publicPages: PublicPages;
}

/** Paths that are pages: the browser's router shows the right one. Anything else that is no file is a 404. */
const PAGE_PATHS =
  /^\/(?:$|(?:sign-in|sign-up|forgot-password|reset-password|verify-email|receipt|setup|app|admin|docs)(?:$|\/))/;

/** Everything a browser sees: pages, their files, and the API behind them. `undefined`: no such path. */
export function makeSite(parts: SiteParts): (incoming: IncomingRequest) => Promise<Response | undefined> {
  return async (incoming) => {
    const { path, request, requestId, requestRecord, origin, address } = incoming;
    if (/^\/api\/(?:console|auth)\//.test(path))
      return await parts.console(request, { requestId, requestRecord, origin, address });
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    const rendered = await parts.publicPages(incoming, async () => (await parts.files).keys());
    if (rendered) return rendered;
    const files = await parts.files;
    const file = files.get(path) ?? (PAGE_PATHS.test(path) ? files.get('/index.html') : undefined);
    return file && page(file, request, origin.startsWith('https:'));
  };
}

function page(file: WebFile, request: Request, secure: boolean): Response {
  const gzip = request.headers.get('accept-encoding')?.includes('gzip') ? file.gzip : undefined;
  return new Response(gzip ?? file.bytes, {
    headers: {
      vary: 'accept-encoding',
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
      ...PAGE_HEADERS,
      'content-type': file.mime,
      'cache-control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-store',
      ...(secure ? { 'strict-transport-security': STRICT_TRANSPORT } : {}),
    },
  });
}
