import { costPriceFor, priceFor, resolve, type Model } from '../catalog/catalog.ts';
import { edgesOf } from '../catalog/image-abilities.ts';
import type { Ceiling, Settled } from '../ledger/port.ts';
import type { Usage } from '../ledger/price.ts';
import { asFault } from '../std/fault.ts';
import { addNano, type NanoUsd } from '../std/money.ts';
import {
  UpstreamFailure,
  type GeneratedImage,
  type ImageAnswer,
  type Upstream,
  type UpstreamImageCall,
} from '../upstream/port.ts';
import { withoutCost } from '../wire/openai/answer.ts';
import type { ImageRequest, UploadedImage } from '../wire/openai/images.ts';
import type { AdmissionSummary, AskedImages, ImageCall, InputPicture, Quote, RelayParts } from './call.ts';
import { quoteOf, type Admitted } from './admission.ts';
import { withServedCost } from './attempt-costs.ts';
import { AllAttemptsFailed, type AttemptOptions } from './attempts.ts';
import type { ActiveHold } from './hold/active-hold.ts';
import { fitToModel, type FittingRequest } from './image-request.ts';
import { countImageOutput, PARTIAL_TOKENS, countImageInput, type ImageInputCount } from './image-tokens.ts';
import { knobsFor } from './knobs.ts';
import { relay, type AdmittedCall, type AnsweredCall, type HeldCall, type Operation } from './relay.ts';
import { readImageUsage, reportedCost, type MeteredUsage } from './stream/reported-usage.ts';

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
  /** It has a hold. Throws if the request cannot be kept. */
  held(admission: Admitted, hold: ActiveHold): Promise<void>;
  /** A backend is called. `mayCost`: it may send a bill, whose maximum is known. */
  started(upstream: string, mayCost: boolean): Promise<void>;
  /** The backend has a job of its own, which it works on for at most `lifeMs`. */
  accepted(backendJob: string, lifeMs: number): Promise<void>;
  /** Stores the images, before they are charged. Throws if they cannot be stored. */
  delivered(images: readonly GeneratedImage[]): Promise<void>;
  /** Whether the backend's job is cancelled when this process stops: somebody waits here for its images. */
  readonly endsWithProcess: boolean;
}

export function relayImages(call: ImageCall, parts: RelayParts, record: ImageRecord): Promise<ImageReply> {
  return relay(recordedImages(record, parts), call, parts);
}

export type ImageOperation = Operation<ImageCall, ImageQuote, ImageAnswer, ImageReply>;

export function recordedImages(record: ImageRecord, parts: RelayParts): ImageOperation {
  return {
    ...IMAGES,
    onHeld: (held, admission) => onImagesHeld(held, admission, record),
    async callUpstream(admitted, upstream, attempt) {
      await record.started(upstream.name, mayCost(admitted.quote, upstream));
      return await IMAGES.callUpstream(admitted, upstream, withRecord(attempt, upstream, { record, parts }));
    },
    async deliver(answered) {
      await keepImages(answered, record);
      return await IMAGES.deliver(answered);
    },
  };
}

/** A picture that is gone, or has no room in memory, is not a backend's failure: all are loaded before any is called. */
export async function onImagesHeld(
  { call, hold }: HeldCall<ImageCall, ImageQuote>,
  admission: Admitted,
  record: Pick<ImageRecord, 'held'>,
): Promise<void> {
  await withLoadedPictures(call.request);
  await record.held(admission, hold);
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

export function mayCost({ route, image }: ImageQuote, { name }: Upstream): boolean {
  return costPriceFor(route.model, name, image) !== undefined;
}

/** The attempt, with the record that notes its backend's job. */
export function withRecord(
  attempt: AttemptOptions,
  { name }: Upstream,
  { record, parts }: { readonly record: Omit<ImageRecord, 'delivered'>; readonly parts: RelayParts },
): AttemptOptions {
  const { totalMs } = parts.upstreams.timeouts(name);
  const endsAt = parts.clock.now() + totalMs;
  return {
    ...attempt,
    onJob: (job) => record.accepted(job, endsAt - parts.clock.now()),
    endsWithProcess: record.endsWithProcess,
  };
}

/** What cannot be kept is not charged; what it cost us is booked. */
export async function keepImages(answered: KeptAnswer, record: ImageRecord): Promise<void> {
  const { served, quote } = answered;
  try {
    await record.delivered(served.answer.images.slice(0, quote.count));
  } catch (thrown) {
    const attempts = withServedCost(served.attempts, measuredAnswer(answered), quote);
    throw new AllAttemptsFailed(asFault(thrown), attempts);
  }
}

type KeptAnswer = Pick<AnsweredCall<ImageCall, ImageQuote, ImageAnswer>, 'served' | 'quote'>;

/** Charged by the number of images that the backend returned. */
export const IMAGES: ImageOperation = {
  quote: quoteImages,
  isStreamed: () => false,
  async callUpstream(admitted, upstream, { job, ...attempt }) {
    const asked = await upstreamImageCall(admitted, upstream, attempt);
    return await (job === undefined ? upstream.images(asked) : resume(upstream, job, asked));
  },
  async deliver(answered) {
    return { summary: answered.summary, ...(await settleImages(answered)) };
  },
};

type ServedImages = Omit<AnsweredCall<ImageCall, ImageQuote, ImageAnswer>, 'summary'>;

/** Charges the images that were delivered; those beyond what was asked for are neither delivered nor charged. */
export async function settleImages({
  call,
  quote,
  hold,
  served,
  parts,
}: ServedImages): Promise<Omit<ImageReply, 'summary'>> {
  const images = served.answer.images.slice(0, quote.count);
  const isCounted = quote.price.kind === 'tokens' && served.answer.usage === undefined;
  const input = isCounted ? await countImageInput(call, quote.route.model, parts) : undefined;
  const settled = await hold.settle({
    ...served,
    outcome: call.signal.aborted ? 'client_left' : 'completed',
    measured: measuredAnswer({ served, quote }, input),
  });
  return { answer: { ...served.answer, images, usage: withoutCost(served.answer.usage) }, settled };
}

function measuredAnswer({ served: { answer }, quote }: KeptAnswer, input?: ImageInputCount): MeteredUsage {
  const { images, usage, quality } = answer;
  const made = { images: Math.min(images.length, quote.count), partialImages: 0 };
  return imagesMeasured(quote, { ...made, usages: [usage], quality, input });
}

/** After a change of the catalog a backend may no longer work by jobs: then it cannot know this one. */
function resume(upstream: Upstream, job: string, asked: UpstreamImageCall): Promise<ImageAnswer> {
  if (upstream.resumeImages) return upstream.resumeImages(job, asked);
  throw new UpstreamFailure('protocol', 'this backend does not work by jobs', { blameless: true });
}

export interface ImageQuote extends Quote {
  readonly fitting: FittingRequest;
  readonly count: number;
  /** Pictures that the request starts from. */
  readonly inputImages: number;
  /** The most that a stream shows of each image before it is finished. */
  readonly partialImages: number;
}

/** The call as one backend gets it. */
export async function upstreamImageCall(
  { call, quote, parts }: AdmittedCall<ImageCall, ImageQuote>,
  upstream: Upstream,
  attempt: AttemptOptions,
): Promise<UpstreamImageCall> {
  const { knobs, requestId } = call;
  const { size, shape, convertTo, request: asked } = quote.fitting;
  const fitting = knobs ? knobsFor(asked, knobs, { quote, upstream: upstream.name, parts }) : asked;
  const request = await withLoadedPictures(fitting);
  return { ...attempt, request, size, shape, convertTo, requestId };
}

export function quoteImages(call: ImageCall, parts: RelayParts): ImageQuote {
  const route = resolve(parts.catalog(), call.selector);
  const fitting = fitToModel(call.request, route.model);
  const { size } = fitting;
  const count = call.request.n ?? 1;
  const inputImages = call.request.image?.length ?? 0;
  const partialImages = call.request.stream === true ? (call.request.partial_images ?? 0) : 0;
  const counts = { count, inputImages, partialImages };
  return {
    route,
    fitting,
    ...counts,
    image: { size, quality: call.request.quality },
    ceiling: imageCeiling(call, route.model, { size, ...counts }),
    price: priceFor(route.model, { size, quality: call.request.quality }),
  };
}

interface ImageCounts extends Pick<ImageQuote, 'count' | 'inputImages' | 'partialImages'> {
  readonly size: string;
}

/** Tokens are held where they are priced: the prompt has at most one for each byte, an image as many as the model says. */
function imageCeiling(
  call: ImageCall,
  model: Model,
  { size, count, inputImages, partialImages }: ImageCounts,
): Ceiling {
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

function pixelsOf(size: string): number {
  const [width, height] = edgesOf(size);
  return width * height;
}

export interface MadeImages {
  readonly images: number;
  readonly partialImages: number;
  /** The backend's own reports: one for all images, or one for each. */
  readonly usages: readonly unknown[];
  readonly quality?: string | undefined;
  /** By our own count, where the backend reports none. */
  readonly input?: ImageInputCount | undefined;
}

/**
 * The tokens are the backend's, or by our own count where it reported none: the input is owed as soon as it has accepted
 * the request. What was made is what arrived.
 */
export function imagesMeasured(quote: ImageQuote, made: MadeImages): MeteredUsage {
  const { price, fitting, inputImages } = quote;
  const { images, partialImages } = made;
  const reports = made.usages.filter((usage) => usage !== undefined);
  const cost = reports.map(reportedCost).reduce(sumOfCosts, undefined);
  if (price.kind === 'tokens') return { ...tokensMeasured(quote, made, reports), cost };
  const isByPixel = price.extra?.megapixel !== undefined;
  const isKnown = price.extra?.qualities && made.quality !== undefined && /^[\w.-]{1,32}$/.test(made.quality);
  const usage = readImageUsage(undefined, {
    images,
    pixels: isByPixel ? images * pixelsOf(fitting.size) : undefined,
    quality: isKnown ? made.quality : undefined,
    inputImages: images + partialImages > 0 ? inputImages : undefined,
    partialImages,
  });
  return { usage, source: 'upstream', cost };
}

/** A report without output, although there are images, says nothing about it: then that is our own count. */
function tokensMeasured(
  { fitting, route, image }: ImageQuote,
  { images, partialImages, quality, input = { text: 0, pictures: 0 } }: MadeImages,
  reports: readonly unknown[],
): Pick<MeteredUsage, 'usage' | 'source'> {
  const reported = reports.length > 0 ? readImageUsage(sumOfReports(reports), { images }) : undefined;
  const made = { images, partialImages, size: fitting.size, quality: quality ?? image?.quality };
  const output_tokens = countImageOutput({ ...made, maxOutput: route.model.maxOutput });
  if (reported && (reported.output > 0 || output_tokens === 0))
    return { usage: reported, source: 'upstream' };
  const usage = {
    input_tokens: reported?.input ?? input.text + input.pictures,
    input_tokens_details: { image_tokens: reported?.extra?.imageInput ?? input.pictures },
    output_tokens,
  };
  return { usage: readImageUsage(usage, { images }), source: reported ? 'mixed' : 'counted' };
}

function sumOfCosts(sum: NanoUsd | undefined, cost: NanoUsd | undefined): NanoUsd | undefined {
  return sum === undefined || cost === undefined ? (sum ?? cost) : addNano(sum, cost);
}

/** A stream reports the tokens of each image with it. */
function sumOfReports(reports: readonly unknown[]): unknown {
  if (reports.length < 2) return reports[0];
  const usages = reports.map((report) => readImageUsage(report, { images: 0 }));
  const sum = (count: (usage: Usage) => number | undefined): number =>
    usages.reduce((total, usage) => total + (count(usage) ?? 0), 0);
  const output_tokens = sum(({ output }) => output);
  return {
    input_tokens: sum(({ input }) => input),
    output_tokens,
    input_tokens_details: { image_tokens: sum(({ extra }) => extra?.imageInput) },
    output_tokens_details: { text_tokens: output_tokens - sum(({ extra }) => extra?.imageOutput) },
  };
}
