import { MAX_IMAGE_PIXELS } from '../catalog/image-abilities.ts';
import { isWholeImage, withoutMetadata } from './image-structure.ts';
import {
  UpstreamFailure,
  type GeneratedImage,
  type ImageAnswer,
  type ImageEvent,
  type ImagePart,
  type Upstream,
  type UpstreamImageCall,
  type UpstreamImageStreamCall,
} from './port.ts';

/**
 * A backend whose images arrive as the client asked for them: whole, in the wanted format, without metadata where they are
 * not wanted. What cannot be decoded is left out, so that nobody pays for it.
 */
export function finishingImages(upstream: Upstream): Upstream {
  const images = upstream.images.bind(upstream);
  const resume = upstream.resumeImages?.bind(upstream);
  const stream = upstream.streamImages?.bind(upstream);
  return Object.assign(upstream, {
    images: async (call: UpstreamImageCall) => await finished(await images(asBackendsKnowIt(call)), call),
    ...(resume && {
      resumeImages: async (parts: readonly ImagePart[], call: UpstreamImageCall) =>
        await finished(await resume(parts, asBackendsKnowIt(call)), call),
    }),
    ...(stream && {
      streamImages: async (call: UpstreamImageStreamCall) =>
        finishedEvents(await stream({ ...asBackendsKnowIt(call), partialImages: call.partialImages }), call),
    }),
  });
}

function asBackendsKnowIt(call: UpstreamImageCall): UpstreamImageCall {
  if (call.request.strip_metadata === undefined) return call;
  const { strip_metadata: _, ...request } = call.request;
  return { ...call, request };
}

async function* finishedEvents(
  events: AsyncIterator<ImageEvent, unknown>,
  call: UpstreamImageCall,
): AsyncGenerator<ImageEvent> {
  let lost = 0;
  let isAnswered = false;
  for (let next = await events.next(); next.done !== true; next = await events.next()) {
    const { value } = next;
    const image = value.kind === 'lost' ? undefined : await finishedImage(value.image, call);
    if (image && value.kind !== 'lost') {
      isAnswered = true;
      yield { ...value, image };
    } else if (value.kind !== 'partial') lost += value.kind === 'lost' ? value.images : 1;
  }
  if (lost === 0) return;
  if (!isAnswered) throw undecodable();
  yield { kind: 'lost', images: lost };
}

async function finished(answer: ImageAnswer, call: UpstreamImageCall): Promise<ImageAnswer> {
  const all = await Promise.all(answer.images.map((image) => finishedImage(image, call)));
  const images = all.filter((image) => image !== undefined);
  const lost = (answer.lost ?? 0) + all.length - images.length;
  if (images.length > 0) return { ...answer, images, lost };
  throw undecodable();
}

function undecodable(): UpstreamFailure {
  return new UpstreamFailure('protocol', 'the answer holds no image that can be decoded');
}

async function finishedImage(
  image: GeneratedImage,
  { request, convertTo = request.output_format }: UpstreamImageCall,
): Promise<GeneratedImage | undefined> {
  if (!isWholeImage(image.bytes, image.mime)) return undefined;
  const wanted = convertTo === undefined ? undefined : FORMATS.get(convertTo);
  const made = await inTurn(() =>
    wanted === undefined || wanted.mime === image.mime
      ? decoded(image)
      : converted(image, wanted, qualityOf(request['output_compression'])),
  );
  if (!made || request.strip_metadata !== true) return made;
  return { ...made, bytes: withoutMetadata(made.bytes, made.mime) };
}

interface WantedFormat {
  readonly mime: string;
  readonly encode: (image: Bun.Image, quality: number) => Bun.Image;
}

const FORMATS: ReadonlyMap<string, WantedFormat> = new Map([
  ['png', { mime: 'image/png', encode: (image) => image.png() }],
  ['jpeg', { mime: 'image/jpeg', encode: (image, quality) => image.jpeg({ quality }) }],
  ['webp', { mime: 'image/webp', encode: (image, quality) => image.webp({ quality }) }],
]);

const USUAL_QUALITY = 95;

/** `output_compression` of OpenAI is a quality: 100 is the best. */
function qualityOf(compression: unknown): number {
  const given = typeof compression === 'number' && Number.isFinite(compression) ? compression : USUAL_QUALITY;
  return Math.min(100, Math.max(1, Math.round(given)));
}

/**
 * Runs on a thread of Bun's, which reads the dimensions before it decodes anything. An image in a format that this
 * machine cannot decode (AVIF on Linux) is passed on as it is.
 */
async function converted(
  image: GeneratedImage,
  { mime, encode }: WantedFormat,
  quality: number,
): Promise<GeneratedImage | undefined> {
  try {
    const bytes = await encode(new Bun.Image(image.bytes, { maxPixels: MAX_IMAGE_PIXELS }), quality).bytes();
    return { ...image, bytes, mime };
  } catch (thrown) {
    return isUndecodable(thrown) ? undefined : image;
  }
}

/** The image itself, if its pixels can be read, or if this machine has no decoder for its format. */
async function decoded(image: GeneratedImage): Promise<GeneratedImage | undefined> {
  try {
    await new Bun.Image(image.bytes, { maxPixels: MAX_IMAGE_PIXELS }).resize(1, 1).png().bytes();
    return image;
  } catch (thrown) {
    return isUndecodable(thrown) ? undefined : image;
  }
}

function isUndecodable(thrown: unknown): boolean {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' && UNDECODABLE.has(code);
}

/** An image that would take too much memory cannot be checked, so nobody pays for it. */
const UNDECODABLE = new Set([
  'ERR_IMAGE_DECODE_FAILED',
  'ERR_IMAGE_UNKNOWN_FORMAT',
  'ERR_IMAGE_TOO_MANY_PIXELS',
]);

/**
 * Two at a time: each takes a thread and the memory of its pixels. The queue is bounded by the number of requests under
 * way.
 */
const MAX_CONVERSIONS = 2;
let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running === MAX_CONVERSIONS) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
