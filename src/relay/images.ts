import { priceFor, resolve, type Route } from '../catalog/catalog.ts';
import type { Settled } from '../ledger/port.ts';
import { NO_USAGE } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { ImageAnswer } from '../upstream/port.ts';
import type { ImageCall, Quote, RelayParts, AdmissionSummary } from './call.ts';
import { knobsFor } from './knobs.ts';
import { relay, type Operation } from './relay.ts';

export interface ImageReply {
  readonly summary: AdmissionSummary;
  readonly answer: ImageAnswer;
  /** `undefined`: the store is unavailable, and the charge follows later. */
  readonly settled: Settled | undefined;
}

export function relayImages(call: ImageCall, parts: RelayParts): Promise<ImageReply> {
  return relay(IMAGES, call, parts);
}

/** Charged by the number of images that the backend returned. */
const IMAGES: Operation<ImageCall, ImageQuote, ImageAnswer, ImageReply> = {
  quote: quoteImages,
  isStreamed: () => false,
  callUpstream({ call, quote, parts }, upstream, attempt) {
    const { knobs, request: asked } = call;
    const request = knobs ? knobsFor(asked, knobs, { quote, upstream: upstream.name, parts }) : asked;
    return upstream.images({ ...attempt, request, size: quote.size, requestId: call.requestId });
  },
  async deliver({ call, quote, summary, hold, served }) {
    const images = served.answer.images.slice(0, quote.count);
    const settled = await hold.settle({
      ...served,
      outcome: call.signal.aborted ? 'client_left' : 'completed',
      measured: { usage: { ...NO_USAGE, images: images.length }, source: 'upstream' },
    });
    return { summary, answer: { ...served.answer, images }, settled };
  },
};

interface ImageQuote extends Quote {
  readonly size: string;
  readonly count: number;
}

function quoteImages(call: ImageCall, parts: RelayParts): ImageQuote {
  const route = resolve(parts.catalog(), call.selector);
  const size = imageSize(call, route);
  const count = call.request.n ?? 1;
  return {
    route,
    size,
    count,
    ceiling: { kind: 'images', images: count },
    price: priceFor(route.model, size),
  };
}

function imageSize(call: ImageCall, { model }: Route): string {
  const wanted = call.request.size;
  const size = wanted === undefined || wanted === 'auto' ? model.sizes[0] : wanted;
  if (size !== undefined && model.sizes.includes(size)) return size;
  throw new Fault('invalid_field', `size must be one of ${model.sizes.join(', ')}.`, { param: 'size' });
}
