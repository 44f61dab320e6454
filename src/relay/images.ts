import { priceFor, resolve, type Model } from '../catalog/catalog.ts';
import { edgesOf } from '../catalog/image-abilities.ts';
import type { Ceiling, Settled } from '../ledger/port.ts';
import type { Usage } from '../ledger/price.ts';
import {
  UpstreamFailure,
  type ImageAnswer,
  type Upstream,
  type UpstreamImageCall,
} from '../upstream/port.ts';
import { withoutCost } from '../wire/openai/answer.ts';
import type { ImageCall, Quote, RelayParts, AdmissionSummary } from './call.ts';
import { quoteOf } from './admission.ts';
import { fitToModel, type FittingRequest } from './image-request.ts';
import { knobsFor } from './knobs.ts';
import { relay, type AnsweredCall, type Operation } from './relay.ts';
import { readImageUsage, reportedCost } from './stream/reported-usage.ts';

export interface ImageReply {
  readonly summary: AdmissionSummary;
  readonly answer: ImageAnswer;
  /** `undefined`: the store is unavailable, and the charge follows later. */
  readonly settled: Settled | undefined;
}

export function quoteImageCall(call: ImageCall, parts: RelayParts): Quote | Promise<Quote> {
  return quoteOf(IMAGES, call, parts);
}

export function relayImages(call: ImageCall, parts: RelayParts): Promise<ImageReply> {
  return relay(IMAGES, call, parts);
}

/** Charged by the number of images that the backend returned. */
export const IMAGES: Operation<ImageCall, ImageQuote, ImageAnswer, ImageReply> = {
  quote: quoteImages,
  isStreamed: () => false,
  callUpstream({ call, quote, parts }, upstream, attempt) {
    const { knobs, requestId } = call;
    const { size, shape, convertTo, request: fitting } = quote.fitting;
    const request = knobs ? knobsFor(fitting, knobs, { quote, upstream: upstream.name, parts }) : fitting;
    const { job, ...rest } = attempt;
    const asked = { ...rest, request, size, shape, convertTo, requestId };
    return job === undefined ? upstream.images(asked) : resume(upstream, job, asked);
  },
  async deliver(answered) {
    return { summary: answered.summary, ...(await settleImages(answered)) };
  },
};

type ServedImages = Omit<AnsweredCall<ImageCall, ImageQuote, ImageAnswer>, 'summary' | 'parts'>;

/** Charges what was delivered; more images than were asked for are neither. */
export async function settleImages({
  call,
  quote,
  hold,
  served,
}: ServedImages): Promise<Omit<ImageReply, 'summary'>> {
  const images = served.answer.images.slice(0, quote.count);
  const settled = await hold.settle({
    ...served,
    outcome: call.signal.aborted ? 'client_left' : 'completed',
    measured: {
      usage: usageOfImages(served.answer, images.length, { call, quote }),
      source: 'upstream',
      cost: reportedCost(served.answer.usage),
    },
  });
  return { answer: { ...served.answer, images, usage: withoutCost(served.answer.usage) }, settled };
}

/** A backend that does not work by jobs any more, after a change of the catalog, cannot know the job. */
function resume(upstream: Upstream, job: string, asked: UpstreamImageCall): Promise<ImageAnswer> {
  if (upstream.resumeImages) return upstream.resumeImages(job, asked);
  throw new UpstreamFailure('protocol', 'this backend does not work by jobs', { blameless: true });
}

export interface ImageQuote extends Quote {
  readonly fitting: FittingRequest;
  readonly count: number;
}

function quoteImages(call: ImageCall, parts: RelayParts): ImageQuote {
  const route = resolve(parts.catalog(), call.selector);
  const fitting = fitToModel(call.request, route.model);
  const { size } = fitting;
  const count = call.request.n ?? 1;
  return {
    route,
    fitting,
    count,
    image: { size, quality: call.request.quality },
    ceiling: imageCeiling(call, route.model, { size, count }),
    price: priceFor(route.model, { size, quality: call.request.quality }),
  };
}

/** Tokens are held where they are priced: the prompt has at most one for each byte, an image as many as the model says. */
function imageCeiling(
  call: ImageCall,
  model: Model,
  { size, count }: { size: string; count: number },
): Ceiling {
  if (model.price.kind === 'images') {
    const isByPixel = model.price.extra?.megapixel !== undefined;
    const inputImages = call.request.image?.length ?? 0;
    return {
      kind: 'images',
      images: count,
      ...(isByPixel && { pixels: count * pixelsOf(size) }),
      ...(inputImages > 0 && { inputImages }),
    };
  }
  const uploads = (call.request.image?.length ?? 0) + (call.request.mask ? 1 : 0);
  return {
    kind: 'images',
    images: count,
    input: Buffer.byteLength(call.request.prompt) + uploads * UPLOAD_TOKENS,
    output: count * model.maxOutput,
    ...(uploads > 0 && { extra: { imageInput: true } }),
  };
}

/** GPT image models take at most 6,240 tokens of an image at high fidelity, and a picture's tiles beside them. */
const UPLOAD_TOKENS = 8_000;

function pixelsOf(size: string): number {
  const [width, height] = edgesOf(size);
  return width * height;
}

/** The tokens are the backend's; what was made is what arrived. */
function usageOfImages(
  answer: ImageAnswer,
  images: number,
  { call, quote }: { call: ImageCall; quote: ImageQuote },
): Usage {
  const { price, fitting } = quote;
  const isByPixel = price.kind === 'images' && price.extra?.megapixel !== undefined;
  const quality =
    answer.quality !== undefined && /^[\w.-]{1,32}$/.test(answer.quality) ? answer.quality : undefined;
  return readImageUsage(price.kind === 'tokens' ? answer.usage : undefined, {
    images,
    pixels: isByPixel ? images * pixelsOf(fitting.size) : undefined,
    quality: price.kind === 'images' && price.extra?.qualities ? quality : undefined,
    inputImages: price.kind === 'images' ? call.request.image?.length : undefined,
  });
}
