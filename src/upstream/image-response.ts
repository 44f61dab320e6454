import { lookup } from 'node:dns/promises';
import { isPrivateAddress } from '../std/addresses.ts';
import { readBounded } from '../std/bounded-body.ts';
import { answerTooLarge } from './response.ts';
import { UpstreamFailure, type GeneratedImage, type ImageAnswer } from './port.ts';

const MAX_IMAGE_BYTES = 32 * 1_048_576;
const MAX_IMAGES = 10;

/**
 * Reads an images answer in OpenAI's shape. Links are fetched, so that the client can get a link or base64 either way.
 */
export async function collectImages(text: string, backend: URL, signal: AbortSignal): Promise<ImageAnswer> {
  const answer = parse(text);
  const images: GeneratedImage[] = [];
  for (const item of answer.data.slice(0, MAX_IMAGES)) {
    const bytes = await imageBytes(item, backend, signal);
    if (bytes) images.push({ bytes, mime: sniffMime(bytes), revisedPrompt: textOf(item['revised_prompt']) });
  }
  if (images.length === 0) throw new UpstreamFailure('protocol', 'the answer holds no image');
  return { images, usage: answer.usage, quality: textOf(answer.quality) };
}

function parse(text: string): { data: Record<string, unknown>[]; usage: unknown; quality: unknown } {
  try {
    const { data, usage, quality } = JSON.parse(text) as Record<string, unknown>;
    if (Array.isArray(data))
      return { data: data.filter((item) => typeof item === 'object' && item !== null), usage, quality };
  } catch (cause) {
    throw new UpstreamFailure('protocol', 'the answer is not JSON', { cause });
  }
  throw new UpstreamFailure('protocol', 'the answer has no data');
}

async function imageBytes(
  item: Record<string, unknown>,
  backend: URL,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  if (typeof item['b64_json'] === 'string') return Buffer.from(item['b64_json'], 'base64');
  if (typeof item['url'] !== 'string') return undefined;
  if (item['url'].startsWith('data:'))
    return Buffer.from(item['url'].slice(item['url'].indexOf(',') + 1), 'base64');
  try {
    return await download(new URL(item['url'], backend), backend, signal);
  } catch (cause) {
    if (cause instanceof UpstreamFailure) throw cause;
    // However the link failed, the image has been made: this is not a backend that could not be reached.
    throw new UpstreamFailure('protocol', `cannot fetch the image: ${String(cause)}`, { cause });
  }
}

/**
 * The backend chooses the URL, so it is treated as hostile: only the backend's own host, or a public one over https; no
 * redirects, and no key is sent.
 */
async function download(url: URL, backend: URL, signal: AbortSignal): Promise<Uint8Array> {
  if (url.host !== backend.host) await requirePublic(url);
  const response = await fetch(url, { redirect: 'error', signal });
  if (!response.ok) throw new UpstreamFailure('server', `image link answered ${response.status}`);
  return await readBounded(response, MAX_IMAGE_BYTES, answerTooLarge);
}

async function requirePublic(url: URL): Promise<void> {
  if (url.protocol !== 'https:') throw new UpstreamFailure('protocol', 'an image link without https');
  const addresses = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true });
  if (addresses.length === 0 || addresses.some(({ address }) => isPrivateAddress(address))) {
    throw new UpstreamFailure('protocol', 'an image link into a private network');
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** By the first bytes: the type that a backend names is not trusted. */
export function sniffMime(bytes: Uint8Array): string {
  if (bytes[0] === 0x89 && bytes[1] === 0x50) return 'image/png';
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return 'image/jpeg';
  if (bytes[8] === 0x57 && bytes[9] === 0x45) return 'image/webp';
  if (bytes[0] === 0x47 && bytes[1] === 0x49) return 'image/gif';
  return 'application/octet-stream';
}
