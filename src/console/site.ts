import { NO_BODY } from '../http/request-body.ts';
import { PLAIN_ERRORS } from '../http/response.ts';
import type { HttpRoute } from '../http/router.ts';
import { PUBLIC_PATHS, type PublicPages } from './public/public-pages.ts';
import { FILE_HEADERS, PAGE_HEADERS, STRICT_TRANSPORT } from './security.ts';

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
  /** What the server renders itself. */
  readonly publicPages: PublicPages;
}

/** Paths that are pages: the browser's router shows the right one. */
const PAGES = [
  'sign-in',
  'sign-up',
  'forgot-password',
  'reset-password',
  'verify-email',
  'receipt',
  'setup',
  'app',
  'admin',
  'docs',
];

/** Everything a browser loads: pages and their files. */
export function pageRoutes({ files, publicPages }: SiteParts): HttpRoute[] {
  const served = (path: string, name?: string) =>
    siteRoute(path, async (incoming) => {
      const file = (await files).get(name ?? incoming.path);
      if (!file) throw incoming.nothingHere();
      return page(file, incoming.request, incoming.origin.startsWith('https:'));
    });
  const rendered = (path: string) =>
    siteRoute(path, async (incoming) => {
      const response = await publicPages(incoming, async () => (await files).keys());
      if (!response) throw incoming.nothingHere();
      return response;
    });
  return [
    served('/', '/index.html'),
    served('/index.html'),
    served('/assets/**'),
    ...PAGES.flatMap((name) => [served(`/${name}`, '/index.html'), served(`/${name}/**`, '/index.html')]),
    ...PUBLIC_PATHS.map(rendered),
  ];
}

function siteRoute(path: string, handle: HttpRoute['handle']): HttpRoute {
  return { method: 'GET', path, door: 'console', body: NO_BODY, errors: PLAIN_ERRORS, handle };
}

/** What a browser that is led there would show as a page, with scripts of its own. */
const DOCUMENT = /html|xml|pdf/;

function page(file: WebFile, request: Request, secure: boolean): Response {
  const gzip = request.headers.get('accept-encoding')?.includes('gzip') ? file.gzip : undefined;
  return new Response(gzip ?? file.bytes, {
    headers: {
      vary: 'accept-encoding',
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
      ...(DOCUMENT.test(file.mime) ? PAGE_HEADERS : FILE_HEADERS),
      'content-type': file.mime,
      'cache-control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-store',
      ...(secure ? { 'strict-transport-security': STRICT_TRANSPORT } : {}),
    },
  });
}
