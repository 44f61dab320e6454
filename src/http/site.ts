import type { Exchange } from './edge.ts';

export interface WebFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mime: string;
  /** The name carries a hash of the content: it may be cached for ever. */
  readonly immutable: boolean;
}

export interface SiteParts {
  /** The bundled pages; a promise, so that the API need not wait for the bundler. */
  readonly files: Promise<ReadonlyMap<string, WebFile>>;
  /** The console's own API and sign-in, under /api/console and /api/auth. */
  readonly console: (exchange: Exchange) => Promise<Response>;
  /** Sent with every page. */
  readonly policy: string;
  readonly llmsText: string;
}

const PAGE_PATHS = /^\/($|sign-in|sign-up|setup\/|app($|\/)|admin($|\/)|docs($|\/)|models($|\/)|status$)/;

/** Everything a browser sees: pages, their files, and the API behind them. `undefined`: no such path. */
export function makeSite(parts: SiteParts): (exchange: Exchange) => Promise<Response | undefined> {
  return async (exchange) => {
    const { path, request } = exchange;
    if (path.startsWith('/api/console/') || path.startsWith('/api/auth/')) return await parts.console(exchange);
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    if (path === '/llms.txt') return text(parts.llmsText);
    if (path === '/robots.txt') return text('User-agent: *\nDisallow: /app\nDisallow: /admin\nDisallow: /api\n');
    const files = await parts.files;
    const file = files.get(path) ?? (PAGE_PATHS.test(path) ? files.get('/index.html') : undefined);
    return file && page(file, parts.policy, exchange);
  };
}

function page(file: WebFile, policy: string, exchange: Exchange): Response {
  const secure = exchange.origin.startsWith('https:');
  return new Response(file.bytes, {
    headers: {
      'content-type': file.mime,
      'cache-control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-store',
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), microphone=(), geolocation=()',
      'x-frame-options': 'DENY',
      ...(secure ? { 'strict-transport-security': 'max-age=31536000' } : {}),
    },
  });
}

function text(words: string): Response {
  return new Response(words, { headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' } });
}
