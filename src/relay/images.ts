import type { Settled } from '../ledger/port.ts';
import { NO_USAGE } from '../ledger/price.ts';
import type { ImageAnswer } from '../upstream/port.ts';
import { admit, askingOf, termsOf, tokenFirst } from './admission.ts';
import { firstAnswer } from './attempts.ts';
import type { ImageCall, RelayParts, Terms } from './call.ts';
import { Errand } from './errand.ts';
import { readImageOrder } from './order.ts';

export interface ImageReply {
  readonly terms: Terms;
  readonly answer: ImageAnswer;
  /** `undefined`: the store is away, the charge will follow. */
  readonly settled: Settled | undefined;
}

/** One image call, from token to receipt: the same story as a chat, charged by the images that came. */
export async function relayImages(call: ImageCall, parts: RelayParts): Promise<ImageReply> {
  const order = await tokenFirst(askingOf(call), parts, () => readImageOrder(call, parts));
  const admitted = await admit(call, order, parts);
  const errand = new Errand(call, parts);
  return await errand.orRelease(async () => {
    const { size, count } = order;
    const served = await firstAnswer(order, errand, parts, (upstream, attempt) =>
      upstream.images({ ...attempt, request: call.request, size, requestId: call.requestId }),
    );
    const images = served.answer.images.slice(0, count);
    const settled = await errand.settle({
      ...served,
      outcome: call.signal.aborted ? 'client_left' : 'completed',
      measured: { usage: { ...NO_USAGE, images: images.length }, source: 'upstream' },
    });
    return { terms: termsOf(call, order, admitted), answer: { ...served.answer, images }, settled };
  });
}
