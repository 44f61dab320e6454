import type { UploadedImage } from '../wire/openai/images.ts';
import { downloadImage, type ImageLinkRules } from './image-download.ts';
import {
  UpstreamFailure,
  type GeneratedImage,
  type ImageAnswer,
  connectionFailure,
  mayBeBilled,
} from './port.ts';

const MAX_IMAGES = 10;

/**
 * Reads an images answer in OpenAI's shape. Links are fetched, so that the client can get a link or base64 either way.
 */
export async function collectImages(
  value: unknown,
  links: ImageLinkRules,
  signal: AbortSignal,
): Promise<ImageAnswer> {
  const answer = fieldsOf(value);
  const made = answer.data.slice(0, MAX_IMAGES);
  const settled = await Promise.allSettled(made.map((item) => itemImage(item, links, signal)));
  const images = settled.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
  const lost = made.length - images.length;
  if (images.length > 0) return { images, lost, usage: answer.usage, quality: textOf(answer.quality) };
  const failed = settled.find((one) => one.status === 'rejected');
  throw failed?.reason ?? new UpstreamFailure('protocol', 'the answer holds no image');
}

function fieldsOf(value: unknown): { data: Record<string, unknown>[]; usage: unknown; quality: unknown } {
  const { data, usage, quality } = (value ?? {}) as Record<string, unknown>;
  if (!Array.isArray(data)) throw new UpstreamFailure('protocol', 'the answer has no data');
  return { data: data.filter((item) => typeof item === 'object' && item !== null), usage, quality };
}

async function itemImage(
  item: Record<string, unknown>,
  links: ImageLinkRules,
  signal: AbortSignal,
): Promise<GeneratedImage | undefined> {
  const { b64_json: inline, url } = item;
  const source = typeof inline === 'string' ? Buffer.from(inline, 'base64') : textOf(url);
  const image = source === undefined ? undefined : await imageOf(source, links, signal);
  return image && { ...image, revisedPrompt: textOf(item['revised_prompt']) };
}

/** From a link, a `data:` address or bytes; undefined if it is no image. */
export async function imageOf(
  source: string | Uint8Array,
  links: ImageLinkRules,
  signal: AbortSignal,
): Promise<GeneratedImage | undefined> {
  const bytes = typeof source === 'string' ? await imageBytes(source, links, signal) : source;
  const mime = sniffMime(bytes);
  return mime === undefined ? undefined : { bytes, mime };
}

async function imageBytes(link: string, links: ImageLinkRules, signal: AbortSignal): Promise<Uint8Array> {
  if (link.startsWith('data:')) return Buffer.from(link.slice(link.indexOf(',') + 1), 'base64');
  try {
    return await downloadImage(link, links, signal);
  } catch (cause) {
    if (cause instanceof UpstreamFailure) throw cause;
    // However the link failed, the image has been made: this is not a backend that could not be reached.
    throw new UpstreamFailure('protocol', `cannot fetch the image: ${String(cause)}`, { cause });
  }
}

/** A picture as a `data:` address, for backends that take it only so. */
export function dataAddress({ bytes, mime }: UploadedImage): string {
  return `data:${mime};base64,${Buffer.from(bytes).toString('base64')}`;
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

/** How many images each of the calls makes that a request for images is split into. */
export function split(total: number, most: number): number[] {
  return Array.from({ length: Math.ceil(total / most) }, (_, index) => Math.min(most, total - index * most));
}

/** The answer to one part of a request: at least one image; otherwise the part has failed. */
export interface PartAnswer {
  readonly images: readonly GeneratedImage[];
  /** The backend made them, and they cannot be had. */
  readonly lost: number;
}

interface RunningPart<Answer> {
  /** How many it was submitted for. */
  readonly images: number;
  readonly answer: Promise<Answer>;
}

interface JoinedParts<Answer> {
  readonly answers: readonly Answer[];
  readonly images: GeneratedImage[];
  /** Of the answers, and of the parts whose end is not known: the backend may bill them. */
  readonly lost: number;
}

/**
 * The answers of all parts once each has ended. No image at all is a failure: one after which the backend may send a bill,
 * if any part failed so.
 */
export async function joinParts<Answer extends PartAnswer>(
  parts: readonly RunningPart<Answer>[],
): Promise<JoinedParts<Answer>> {
  const settled = await Promise.allSettled(parts.map(({ answer }) => answer));
  const answers = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const images = answers.flatMap((answer) => answer.images);
  if (images.length > 0) {
    const lost = settled.map((one, index) =>
      one.status === 'fulfilled'
        ? one.value.lost
        : isPossiblyMade(one.reason)
          ? (parts[index]?.images ?? 0)
          : 0,
    );
    return { answers, images, lost: lost.reduce((sum, count) => sum + count, 0) };
  }
  const failed = settled.filter((one) => one.status === 'rejected');
  throw (failed.find(({ reason }) => isPossiblyMade(reason)) ?? failed[0])?.reason ?? noImage();
}

/** An error that is no `UpstreamFailure` is an abort, or a connection that broke. */
function isPossiblyMade(thrown: unknown): boolean {
  return mayBeBilled(thrown instanceof UpstreamFailure ? thrown : connectionFailure(thrown));
}

export function noImage(): UpstreamFailure {
  return new UpstreamFailure('protocol', 'the answer holds no image');
}
