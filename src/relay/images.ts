import type { Settled } from '../ledger/port.ts';
import { NO_USAGE } from '../ledger/price.ts';
import type { ImageAnswer } from '../upstream/port.ts';
import type { ImageCall, RelayParts, Terms } from './call.ts';
import { readImageOrder, type ImageOrder } from './order.ts';
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
