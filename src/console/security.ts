import { Fault } from '../std/fault.ts';

/**
 * What a page of the console may load: its own files, nothing else. The output of models is untrusted, so no inline script
 * runs and no string becomes markup.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** On every page of the console; `strict-transport-security` is added where the page came over HTTPS. */
export const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'camera=(), microphone=(), geolocation=(), payment=(), publickey-credentials-create=(self), publickey-credentials-get=(self)',
} as const;

/** On scripts, styles, fonts and pictures of a page, whose own rules they are under. There are fifty of them in a first page. */
export const FILE_HEADERS = {
  'x-content-type-options': PAGE_HEADERS['x-content-type-options'],
  'cross-origin-resource-policy': PAGE_HEADERS['cross-origin-resource-policy'],
} as const;

/** On every answer of the console's API. */
export const API_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

export const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses requests that another site made the browser send. A browser sends a request's origin in `Sec-Fetch-Site`, an old
 * one at least in `Origin`. A request with neither does not come from our pages.
 */
export function requireOwnPage(request: Request, origin: string): void {
  if (SAFE_METHODS.has(request.method)) return;
  const site = request.headers.get('sec-fetch-site');
  const from = request.headers.get('origin');
  const own =
    site === null ? from !== null && sameHost(from, origin) : site === 'same-origin' || site === 'none';
  if (!own) throw new Fault('cross_site', 'This request did not come from a page of this site.');
}

/** Hosts are compared, not schemes: a proxy that terminates TLS may not tell which scheme the browser used. */
function sameHost(from: string, origin: string): boolean {
  return URL.canParse(from) && new URL(from).host === new URL(origin).host;
}
