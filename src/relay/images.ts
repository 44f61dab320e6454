import { priceFor, resolve, type Route } from '../catalog/catalog.ts';
import type { Settled } from '../ledger/port.ts';
import { NO_USAGE } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { ImageAnswer } from '../upstream/port.ts';
import type { ImageCall, Order, RelayParts, Terms } from './call.ts';
import { relay, type Operation } from './relay.ts';

export interface ImageReply {
  readonly terms: Terms;
  readonly answer: ImageAnswer;
  /** `undefined`: the store is away, the charge will follow. */
  readonly settled: Settled | undefined;
}

export function relayImages(call: ImageCall, parts: RelayParts): Promise<ImageReply> {
  return relay(IMAGES, call, parts);
}

/** Charged by the images that came. */
const IMAGES: Operation<ImageCall, ImageOrder, ImageAnswer, ImageReply> = {
  readOrder: readImageOrder,
  isStreamed: () => false,
  ask: ({ call, order }, upstream, attempt) =>
    upstream.images({ ...attempt, request: call.request, size: order.size, requestId: call.requestId }),
  async deliver({ call, order, terms, hold, served }) {
    const images = served.answer.images.slice(0, order.count);
    const settled = await hold.settle({
      ...served,
      outcome: call.signal.aborted ? 'client_left' : 'completed',
      measured: { usage: { ...NO_USAGE, images: images.length }, source: 'upstream' },
    });
    return { terms, answer: { ...served.answer, images }, settled };
  },
};

interface ImageOrder extends Order {
  readonly size: string;
  readonly count: number;
}

function readImageOrder(call: ImageCall, parts: RelayParts): ImageOrder {
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
