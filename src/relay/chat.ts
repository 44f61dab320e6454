import { UpstreamFailure, type ChatAnswer, type Upstream } from '../upstream/port.ts';
import { readCompletion, presentCompletion } from '../wire/openai/answer.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import type { AttemptOptions } from './attempts.ts';
import type { ChatCall, ChatReply, RelayParts } from './call.ts';
import { Delivery } from './stream/delivery.ts';
import { Meter, usageOf } from './stream/meter.ts';
import type { OpeningSignals, StartedAnswer, StreamAnswer, WholeAnswer } from './stream/event-source.ts';
import { EventStream } from './stream/event-stream.ts';
import { readNativeAnswer } from './stream/pass-through.ts';
import { TypedStream } from './stream/typed-stream.ts';
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

/** Asks one backend for a chat: in the client's own dialect where the backend speaks it, else in the canonical form. */
async function callUpstream(
  call: ChatCall,
  request: ChatRequest,
  upstream: Upstream,
  attempt: AttemptOptions,
): Promise<StartedAnswer> {
  const { requestId, nativeRequest } = call;
  if (!nativeRequest || !upstream.messages) {
    const answer = await upstream.chat({ ...attempt, request, requestId });
    return await readFirstEvent(answer, { signal: attempt.signal, client: call.signal });
  }
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? 0;
  return await readNativeAnswer(
    await upstream.messages({ ...attempt, ...nativeRequest, maxTokens, requestId }),
  );
}

/** Looks into a backend's answer far enough to know that it is one, while another backend could still be asked. */
async function readFirstEvent(answer: ChatAnswer, signals: OpeningSignals): Promise<StartedAnswer> {
  switch (answer.kind) {
    case 'stream':
      return { kind: 'stream', events: await EventStream.open(answer.body, signals) };
    case 'events':
      return { kind: 'stream', events: await TypedStream.open(answer.events, signals) };
    case 'whole':
      return readWhole(decodeUtf8(answer.body));
    case 'completion':
      return { kind: 'whole', text: JSON.stringify(answer.completion), completion: answer.completion };
  }
}

function readWhole(text: string): WholeAnswer {
  const completion = readCompletion(text);
  if (!completion) throw new UpstreamFailure('protocol', 'the answer is not a chat completion');
  return { kind: 'whole', text, completion };
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new UpstreamFailure('protocol', 'the answer is not valid UTF-8', { cause });
  }
}

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
