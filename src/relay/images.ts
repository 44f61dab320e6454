import { costPriceFor, priceFor, type Model, type Route } from '../catalog/catalog.ts';
import type { Attempt, Settled } from '../ledger/port.ts';
import type { ImageCeiling } from '../ledger/price.ts';
import { asFault } from '../std/fault.ts';
import type {
  GeneratedImage,
  ImageAnswer,
  ImagePart,
  Upstream,
  UpstreamImageCall,
} from '../upstream/port.ts';
import { withoutCost } from '../wire/openai/answer.ts';
import type { ImageRequest, UploadedImage } from '../wire/openai/images.ts';
import { quoteOf, type Admitted, routeOf } from './admission.ts';
import type { AttemptOptions } from './attempts.ts';
import type { AdmissionSummary, AskedImages, ImageCall, InputPicture, Quote, RelayParts } from './call.ts';
import type { ActiveHold } from './hold/active-hold.ts';
import { endImages, NOTHING_DELIVERED } from './image-ending.ts';
import { fitToModel, type FittingRequest } from './image-request.ts';
import { imagesMeasured, pixelsOf, type ImageTerms } from './image-terms.ts';
import { countImageInput, PARTIAL_TOKENS, type ImageInputCount } from './image-tokens.ts';
import { isServed, knobsFor } from './knobs.ts';
import { relay, type AdmittedCall, type AnsweredCall, type HeldCall, type Operation } from './relay.ts';

export interface ImageReply {
  readonly summary: AdmissionSummary;
  readonly answer: ImageAnswer;
  /** `undefined`: the store is unavailable, and the charge follows later. */
  readonly settled: Settled | undefined;
}

export function quoteImageCall(call: ImageCall, parts: RelayParts): Quote | Promise<Quote> {
  return quoteOf(IMAGES, call, parts);
}

/** Records a request while it runs, so that another process can continue it, and stores its images. */
export interface ImageRecord {
  /** Called once there is a hold. Throws if the request cannot be stored. */
  held(admission: Admitted, held: HeldImages): Promise<void>;
  /** A backend is called for all of its images. */
  started(upstream: string, attempt: StartedImages): Promise<void>;
  /** The backend has jobs of its own, which it works on for at most `lifeMs`. */
  accepted(parts: readonly ImagePart[], lifeMs: number): Promise<void>;
  /** Stores the images, before they are charged. Throws if they cannot be stored. */
  delivered(images: readonly GeneratedImage[]): Promise<void>;
  /** Whether the backend's job is cancelled when this process stops: somebody waits here for its images. */
  readonly endsWithProcess: boolean;
}

interface HeldImages {
  readonly hold: ActiveHold;
  readonly terms: ImageTerms;
}

interface StartedImages {
  /** The backend may send a bill, whose maximum is known. */
  readonly mayCost: boolean;
  /** The attempts before this one, with what they may have cost. */
  readonly earlier: readonly Attempt[];
}

/** A record of a call whose images are stored elsewhere. */
export type ImageCallRecord = Omit<ImageRecord, 'delivered'>;

export function relayImages(call: ImageCall, parts: RelayParts, record: ImageRecord): Promise<ImageReply> {
  return relay(recordedImages(record), call, parts);
}

export type ImageOperation = Operation<ImageCall, ImageQuote, ImageAnswer, ImageReply>;

/** Charged by the number of images that the backend returned. */
export function recordedImages(record: ImageRecord): ImageOperation {
  return {
    ...IMAGES,
    isStreamed: () => false,
    onHeld: (held, admission) => onImagesHeld(held, admission, record),
    async callUpstream(admitted, upstream, attempt) {
      return await upstream.images(await recordedCall(admitted, upstream, { attempt, record }));
    },
    async deliver({ quote: terms, summary, ...answered }) {
      return { summary, ...(await deliverImages({ ...answered, terms }, record)) };
    },
  };
}

const IMAGES = { quote: quoteImages };

/** A picture that is gone, or has no room in memory, is not a backend's failure: all are loaded before any is called. */
export async function onImagesHeld(
  { call, quote: terms, hold }: HeldCall<ImageCall, ImageQuote>,
  admission: Admitted,
  record: Pick<ImageRecord, 'held'>,
): Promise<void> {
  await withLoadedPictures(call.request);
  await record.held(admission, { hold, terms });
}

async function withLoadedPictures({ image, mask, ...request }: AskedImages): Promise<ImageRequest> {
  const [masked] = await loaded(mask ? [mask] : []);
  const pictures = await loaded(image ?? []);
  return {
    ...request,
    ...(pictures.length > 0 && { image: pictures }),
    ...(masked && { mask: masked }),
  };
}

async function loaded(pictures: readonly InputPicture[]): Promise<UploadedImage[]> {
  const all = pictures.map(async (picture) => ({ mime: picture.mime, bytes: await picture.load() }));
  return (await Promise.all(all)).flatMap(({ mime, bytes }) => (bytes ? { mime, bytes } : []));
}

interface RecordedAttempt {
  readonly attempt: AttemptOptions;
  readonly record: ImageCallRecord;
}

/** The call as one backend gets it, once it is written down that this backend is called. */
export async function recordedCall(
  { call, quote, parts }: AdmittedCall<ImageCall, ImageQuote>,
  { name }: Upstream,
  { attempt: { earlier, ...attempt }, record }: RecordedAttempt,
): Promise<UpstreamImageCall> {
  const mayCost = costPriceFor(quote.route.model, name, quote.image) !== undefined;
  await record.started(name, { mayCost, earlier });
  const endsAt = parts.clock.now() + parts.upstreams.timeouts(name).totalMs;
  const { knobs, requestId } = call;
  const { size, shape, convertTo, request: asked } = quote.fitting;
  const fitting = knobs ? knobsFor(asked, knobs, { quote, upstream: name, parts }) : asked;
  return {
    ...attempt,
    request: await withLoadedPictures(fitting),
    size,
    shape,
    convertTo,
    requestId,
    onJob: (submitted) => record.accepted(submitted, endsAt - parts.clock.now()),
    endsWithProcess: record.endsWithProcess,
  };
}

interface AnsweredImages extends Pick<
  AnsweredCall<ImageCall, unknown, ImageAnswer>,
  'call' | 'hold' | 'served'
> {
  readonly terms: ImageTerms;
}

/**
 * Stores and charges the images that a backend returned. Those beyond what was asked for are neither delivered nor charged;
 * what cannot be stored is not charged.
 */
export async function deliverImages(
  { call, terms, hold, served: { answer, ...served } }: AnsweredImages,
  record: Pick<ImageRecord, 'delivered'>,
): Promise<Omit<ImageReply, 'summary'>> {
  const { usage, quality, lost: unseen = 0 } = answer;
  const images = answer.images.slice(0, terms.count);
  const input = usage === undefined ? await terms.countInputForCharge?.() : undefined;
  const made = imagesMeasured(terms, {
    images: images.length,
    partialImages: 0,
    usages: [usage],
    quality,
    input,
  });
  const fault = await record.delivered(images).then(() => undefined, asFault);
  const outcome = call.connection.hasLeft ? 'client_left' : 'completed';
  const delivered = fault ? NOTHING_DELIVERED : made;
  const settled = await endImages(hold, { ...served, terms, outcome, delivered, made, unseen, fault });
  return { answer: { ...answer, images, usage: withoutCost(usage) }, settled };
}

export interface ImageQuote extends Quote, Omit<ImageTerms, keyof Quote> {
  readonly ceiling: ImageCeiling;
  readonly fitting: FittingRequest;
}

export function quoteImages(call: ImageCall, parts: RelayParts): ImageQuote {
  const route = routeOf(call, parts);
  const fitting = fitToModel(call.request, route.model);
  const { size } = fitting;
  const count = call.request.n ?? 1;
  const inputImages = call.request.image?.length ?? 0;
  const partialImages = call.request.stream === true ? partialImagesOf(call, route, parts) : 0;
  const counts = { count, inputImages, partialImages };
  return {
    route,
    fitting,
    ...counts,
    image: { size, quality: call.request.quality },
    countInputForCharge: inputCounter(call, route.model, parts),
    ceiling: imageCeiling(call, route.model, { size, ...counts }),
    price: priceFor(route.model, { size, quality: call.request.quality }),
  };
}

/** As many as the client asks for and the model shows; none where they have no price. */
function partialImagesOf({ request, knobs }: ImageCall, route: Route, parts: RelayParts): number {
  const costly = knobs?.costly.find(({ field }) => field === 'partial_images');
  if (!costly || !isServed(costly, route, parts)) return 0;
  const asked = request.partial_images ?? 0;
  return Math.min(asked, route.model.abilities?.partialImages ?? asked);
}

/** Counted once, when it is first needed. */
function inputCounter(call: ImageCall, model: Model, parts: RelayParts): ImageTerms['countInputForCharge'] {
  if (model.price.kind !== 'tokens') return undefined;
  let counting: Promise<ImageInputCount> | undefined;
  return () => (counting ??= countImageInput(call, model, parts));
}

interface ImageCounts extends Pick<ImageQuote, 'count' | 'inputImages' | 'partialImages'> {
  readonly size: string;
}

/** Tokens are held where they are priced: the prompt has at most one for each byte, an image as many as the model says. */
function imageCeiling(
  call: ImageCall,
  model: Model,
  { size, count, inputImages, partialImages }: ImageCounts,
): ImageCeiling {
  if (model.price.kind === 'images') {
    const isByPixel = model.price.extra?.megapixel !== undefined;
    return {
      kind: 'images',
      images: count,
      ...(isByPixel && { pixels: count * pixelsOf(size) }),
      ...(inputImages > 0 && { inputImages }),
      ...(partialImages > 0 && { partialImages: count * partialImages }),
    };
  }
  const uploads = inputImages + (call.request.mask ? 1 : 0);
  return {
    kind: 'images',
    images: count,
    input: Buffer.byteLength(call.request.prompt) + uploads * UPLOAD_TOKENS,
    output: count * (model.maxOutput + partialImages * PARTIAL_TOKENS),
    ...(uploads > 0 && { extra: { imageInput: true } }),
  };
}

/** GPT image models take at most 6,240 tokens of an image at high fidelity, and a picture's tiles beside them. */
const UPLOAD_TOKENS = 8_000;
