import { presentCompletion } from '../wire/completion.ts';
import { admit, askingOf, termsOf, tokenFirst } from './admission.ts';
import { ask } from './asking.ts';
import { firstAnswer, type Served } from './attempts.ts';
import type { ChatCall, ChatReply, RelayParts, Terms } from './call.ts';
import { Delivery } from './delivery.ts';
import { Errand } from './errand.ts';
import { Meter, usageOf } from './meter.ts';
import type { Opened, StreamAnswer, WholeAnswer } from './opening.ts';
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
  const errand = new Errand(call, parts, streamed);
  return await errand.orRelease(async () => {
    const terms = termsOf(call, order, admitted);
    const request = withCap(call.request, admitted.output);
    const served = await firstAnswer(order, errand, parts, (upstream, attempt) =>
      ask(call, request, upstream, attempt),
    );
    const story = { call, terms, errand, served, meter: new Meter(request), parts };
    return served.answer.kind === 'stream' ? carry(story, served.answer) : await hand(story, served.answer);
  });
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
async function hand(
  { call, terms, errand, served, meter, parts }: Story,
  whole: WholeAnswer,
): Promise<ChatReply> {
  const measured = meter.observeWhole(whole.completion);
  const outcome = call.signal.aborted ? 'client_left' : 'completed';
  const settled = await errand.settle({ ...served, outcome, measured, finishReason: meter.finishReason });
  const labels = { id: call.requestId, model: call.label };
  const shown = presentCompletion(whole, labels, usageOf(measured), parts.clock.now());
  return { kind: 'whole', terms, shown, charged: settled?.charged };
}

/** A streamed answer: measured while it passes, charged when it ends, whoever ends it. */
function carry({ call, terms, errand, served, meter, parts }: Story, stream: StreamAnswer): ChatReply {
  const delivery = Delivery.of(call, stream, {
    meter,
    clock: parts.clock,
    limits: parts.upstreams.timeouts(served.upstream),
    outputCap: terms.outputCap,
    onEnd: (end) => errand.settle({ ...served, ...end, finishReason: meter.finishReason }),
  });
  parts.running.add(delivery);
  if (call.signal.aborted) delivery.leave();
  return { kind: 'stream', terms, body: delivery.body() };
}
