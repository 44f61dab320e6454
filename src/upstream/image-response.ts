import { downloadImage, type ImageLinkRules } from './image-download.ts';
import { UpstreamFailure, type GeneratedImage, type ImageAnswer } from './port.ts';

const MAX_IMAGES = 10;

/**
 * Reads an images answer in OpenAI's shape. Links are fetched, so that the client can get a link or base64 either way.
 */
export async function collectImages(
  text: string,
  links: ImageLinkRules,
  signal: AbortSignal,
): Promise<ImageAnswer> {
  const answer = parse(text);
  const images: GeneratedImage[] = [];
  for (const item of answer.data.slice(0, MAX_IMAGES)) {
    const bytes = await imageBytes(item, links, signal);
    const mime = bytes && sniffMime(bytes);
    if (bytes && mime !== undefined)
      images.push({ bytes, mime, revisedPrompt: textOf(item['revised_prompt']) });
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
  links: ImageLinkRules,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  if (typeof item['b64_json'] === 'string') return Buffer.from(item['b64_json'], 'base64');
  if (typeof item['url'] !== 'string') return undefined;
  if (item['url'].startsWith('data:'))
    return Buffer.from(item['url'].slice(item['url'].indexOf(',') + 1), 'base64');
  try {
    return await downloadImage(item['url'], links, signal);
  } catch (cause) {
    if (cause instanceof UpstreamFailure) throw cause;
    // However the link failed, the image has been made: this is not a backend that could not be reached.
    throw new UpstreamFailure('protocol', `cannot fetch the image: ${String(cause)}`, { cause });
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** By the first bytes: the type that a backend names is not trusted. `undefined`: it is no image, and is not charged. */
export function sniffMime(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (start.startsWith('\x89PNG')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'image/webp';
  if (start.startsWith('GIF8')) return 'image/gif';
  return /^....ftypavi[fs]/s.test(start) ? 'image/avif' : undefined;
}
