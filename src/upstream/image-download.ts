import { privateTarget, publicTarget, type PublicTargetRules, type Target } from '../std/addresses.ts';
import { orAborted } from '../std/deadlines.ts';
import { readBytes } from '../std/json-answer.ts';
import { IMAGE_FILE } from './answer-rules.ts';
import { UpstreamFailure } from './port.ts';
import { refuseEncoded } from './response.ts';

const DOWNLOAD_TIMEOUT_MS = 30_000;
/** The folder of images in LocalAI's documentation: https://localai.io/features/image-generation/ */
export const IMAGE_PATH = '/generated-images/';

/** What links to images may point at. */
export interface ImageLinkRules extends PublicTargetRules {
  readonly backend: URL;
  /** The folder on the backend's own host that may be linked to; absent: none. */
  readonly ownPath: string | undefined;
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
  if (typeof target === 'string') throw new UpstreamFailure('protocol', `an image link: ${target}`);
  const response = await fetch(target.url, { ...target.options, redirect: 'error', signal: bounded });
  if (!response.ok) {
    await response.body?.cancel();
    throw new UpstreamFailure('protocol', `image link answered ${response.status}`);
  }
  await refuseEncoded(response);
  return await readBytes(response, IMAGE_FILE);
}

/** An encoded slash or dot would mean another path to a server that decodes before it resolves. */
function ownTarget(url: URL, { ownPath }: ImageLinkRules): Target {
  if (ownPath === undefined || !url.pathname.startsWith(ownPath) || /%(?:2e|2f|5c|25|00)/i.test(url.pathname))
    throw new UpstreamFailure(
      'protocol',
      `an image link to ${url.pathname.slice(0, 100)} of the backend itself; options.image_path says where its images are`,
    );
  return privateTarget(url);
}
