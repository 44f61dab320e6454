import { presentCompletion } from '../wire/completion.ts';
import { admit, askingOf, termsOf, tokenFirst } from './admission.ts';
import { firstAnswer, type Served } from './attempts.ts';
import type { ChatCall, ChatReply, RelayParts, Terms } from './call.ts';
import { Delivery } from './delivery.ts';
import { Errand } from './errand.ts';
import { Meter, usageOf } from './meter.ts';
import { open, type EventStream, type Opened } from './opening.ts';
import { readChatOrder, withCap } from './order.ts';

/**
 * One chat call, from token to receipt. Read top to bottom:
 *
 *   token → body → endpoint + model → ceiling → ADMIT → upstream(s) → meter → settle → receipt
 *
 * After the admission there is a hold, and every way out of here closes it exactly once.
 */
export async function relayChat(call: ChatCall, parts: RelayParts): Promise<ChatReply> {
  const order = await tokenFirst(askingOf(call), parts, () => readChatOrder(call, parts));
  const streamed = call.request.stream === true;
  const admitted = await admit(call, order, parts, streamed);
  const terms = termsOf(call, order, admitted);
  const errand = new Errand(call, parts);
  const request = withCap(call.request, admitted.output);
  // A stream's client that leaves is not written for any more; a whole answer is paid work and is waited for.
  const signal = streamed ? call.signal : errand.signal;
  const served = await errand.orRelease(call.signal, () =>
    firstAnswer(order, { signal, streamed }, parts, async (upstream, model, attemptSignal) =>
      open(await upstream.chat({ model, request, signal: attemptSignal, requestId: call.requestId }), attemptSignal),
    ),
  );
  const story = { call, terms, errand, served, meter: new Meter(request), parts };
  return served.answer.kind === 'stream' ? carry(story, served.answer.events) : await hand(story, served.answer);
}

interface Story {
  readonly call: ChatCall;
  readonly terms: Terms;
  readonly errand: Errand;
  readonly served: Served<Opened>;
  readonly meter: Meter;
  readonly parts: RelayParts;
}

/** A whole answer: measured, charged, then given. */
async function hand({ call, terms, errand, served, meter }: Story, whole: Extract<Opened, { kind: 'whole' }>): Promise<ChatReply> {
  meter.observeWhole(whole.completion);
  const measured = meter.measure();
  const outcome = call.signal.aborted ? 'client_left' : 'completed';
  const settled = await errand.settle({ ...served, outcome, measured, finishReason: meter.finishReason });
  const completion = presentCompletion(whole, { id: call.requestId, model: call.label }, usageOf(measured));
  return { kind: 'whole', terms, ...completion, charged: settled?.charged };
}

/** A streamed answer: measured while it passes, charged when it ends, whoever ends it. */
function carry({ call, terms, errand, served, meter, parts }: Story, events: EventStream): ChatReply {
  const delivery = new Delivery({
    requestId: call.requestId,
    events,
    meter,
    clock: parts.clock,
    labels: { id: call.requestId, model: call.label },
    encoder: call.encoder,
    limits: parts.upstreams.timeouts(served.upstream),
    maxBytes: Delivery.maxBytes(terms.outputCap),
    onEnd: (end) => errand.settle({ ...served, ...end, finishReason: meter.finishReason }),
  });
  parts.running.add(delivery);
  return { kind: 'stream', terms, body: delivery.body() };
}
