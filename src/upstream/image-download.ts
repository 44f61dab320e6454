import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPrivateAddress } from '../std/addresses.ts';
import { readBytes } from '../std/json-answer.ts';
import { IMAGE_FILE } from './answer-rules.ts';
import { UpstreamFailure } from './port.ts';
import { refuseEncoded } from './response.ts';

const DOWNLOAD_TIMEOUT_MS = 30_000;
/** The folder of images in LocalAI's documentation: https://localai.io/features/image-generation/ */
export const IMAGE_PATH = '/generated-images/';

/** What links to images may point at. Tests replace name resolution and trust a certificate of their own. */
export interface ImageLinkRules {
  readonly backend: URL;
  /** The folder on the backend's own host that may be linked to; absent: none. */
  readonly ownPath: string | undefined;
  readonly lookup?: (host: string) => Promise<readonly string[]>;
  readonly isPrivate?: (address: string) => boolean;
  readonly ca?: string;
  readonly timeoutMs?: number;
}

/**
 * Fetches an image that a backend links to. The backend chooses the link, so it is treated as hostile: a folder of the
 * backend's own host, or a public host over https; no redirects, no key, and a connection to the very address that was
 * checked, because a second resolution of the name may give another.
 */
export async function downloadImage(
  link: string,
  rules: ImageLinkRules,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const url = URL.canParse(link, rules.backend.href) ? new URL(link, rules.backend) : undefined;
  if (!url) throw new UpstreamFailure('protocol', 'an image link that is no address');
  const isOwn = url.origin === rules.backend.origin;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(rules.timeoutMs ?? DOWNLOAD_TIMEOUT_MS)]);
  const target = isOwn ? ownTarget(url, rules) : await orAborted(publicTarget(url, rules), bounded);
  const response = await fetch(target.url, {
    ...target.options,
    redirect: 'error',
    decompress: false,
    signal: bounded,
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new UpstreamFailure('protocol', `image link answered ${response.status}`);
  }
  await refuseEncoded(response);
  return await readBytes(response, IMAGE_FILE);
}

interface LinkTarget {
  readonly url: string;
  readonly options: BunFetchRequestInit;
}

const HEADERS = { 'accept-encoding': 'identity' };

/** An encoded slash or dot would mean another path to a server that decodes before it resolves. */
function ownTarget(url: URL, { ownPath }: ImageLinkRules): LinkTarget {
  if (ownPath === undefined || !url.pathname.startsWith(ownPath) || /%(?:2e|2f|5c|25|00)/i.test(url.pathname))
    throw new UpstreamFailure(
      'protocol',
      `an image link to ${url.pathname.slice(0, 100)} of the backend itself; options.image_path says where its images are`,
    );
  return { url: url.href, options: { headers: HEADERS } };
}

async function publicTarget(url: URL, rules: ImageLinkRules): Promise<LinkTarget> {
  if (url.protocol !== 'https:') throw new UpstreamFailure('protocol', 'an image link without https');
  const { lookup = lookupAll, isPrivate = isPrivateAddress, ca } = rules;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await lookup(host) : [host];
  const [address] = addresses;
  if (address === undefined || addresses.some(isPrivate))
    throw new UpstreamFailure('protocol', 'an image link into a private network');
  const checked = new URL(url);
  checked.hostname = isIP(address) === 6 ? `[${address}]` : address;
  return {
    url: checked.href,
    options: {
      headers: { ...HEADERS, host: url.host },
      tls: { ...(isIP(host) === 0 ? { serverName: host } : {}), ...(ca === undefined ? {} : { ca }) },
    },
  };
}

/** Name resolution cannot be aborted; it is only not waited for any longer. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function lookupAll(host: string): Promise<string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address);
}
