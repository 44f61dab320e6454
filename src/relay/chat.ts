import { presentCompletion } from '../wire/openai/completion.ts';
import { callUpstream } from './call-upstream.ts';
import type { ChatCall, ChatReply, RelayParts } from './call.ts';
import { Delivery } from './stream/delivery.ts';
import { Meter, usageOf } from './stream/meter.ts';
import type { StartedAnswer, StreamAnswer, WholeAnswer } from './stream/started-answer.ts';
import { readChatOrder, withCap, type Order } from './order.ts';
import { relay, type Answered, type Operation } from './relay.ts';

export function relayChat(call: ChatCall, parts: RelayParts): Promise<ChatReply> {
  return relay(CHAT, call, parts);
}

type ChatAnswered = Answered<ChatCall, Order, StartedAnswer>;

const CHAT: Operation<ChatCall, Order, StartedAnswer, ChatReply> = {
  readOrder: readChatOrder,
  isStreamed: ({ request }) => request.stream === true,
  ask: ({ call, outputCap }, upstream, attempt) =>
    callUpstream(call, withCap(call.request, outputCap), upstream, attempt),
  deliver(answered) {
    const { answer } = answered.served;
    return answer.kind === 'stream' ? respondStream(answered, answer) : respondWhole(answered, answer);
  },
};

/** A whole answer: measured, charged, then given. */
async function respondWhole(
  { call, terms, hold, served, parts }: ChatAnswered,
  whole: WholeAnswer,
): Promise<ChatReply> {
  const meter = new Meter(call.request);
  const measured = meter.observeWhole(whole.completion);
  const outcome = call.signal.aborted ? 'client_left' : 'completed';
  const settled = await hold.settle({ ...served, outcome, measured, finishReason: meter.finishReason });
  const labels = { id: call.requestId, model: call.label };
  const shown = presentCompletion(whole, labels, usageOf(measured), parts.clock.now());
  return { kind: 'whole', terms, shown, charged: settled?.charged };
}

/** A streamed answer: measured while it passes, charged when it ends, whoever ends it. */
function respondStream({ call, terms, hold, served, parts }: ChatAnswered, stream: StreamAnswer): ChatReply {
  const meter = new Meter(call.request);
  const delivery = Delivery.of(call, stream, {
    meter,
    clock: parts.clock,
    limits: parts.upstreams.timeouts(served.upstream),
    outputCap: terms.outputCap,
    onEnd: (end) => hold.settle({ ...served, ...end, finishReason: meter.finishReason }),
  });
  parts.activeRequests.add(delivery);
  if (call.signal.aborted) delivery.leave();
  return { kind: 'stream', terms, body: delivery.body() };
}
