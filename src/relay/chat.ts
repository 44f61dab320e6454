import { priceFor, resolve } from '../catalog/catalog.ts';
import type { Ceiling } from '../ledger/port.ts';
import { Fault } from '../std/fault.ts';
import { UpstreamFailure, type ChatAnswer, type Upstream } from '../upstream/port.ts';
import { readCompletion, presentCompletion } from '../wire/openai/answer.ts';
import type { ChatRequest, ContentPart } from '../wire/openai/chat.ts';
import type { AttemptOptions } from './attempts.ts';
import type { BodySize, Call, ChatCall, ChatReply, Order, RelayParts } from './call.ts';
import { Delivery } from './stream/delivery.ts';
import { Meter, usageOf } from './stream/meter.ts';
import type { OpeningSignals, StartedAnswer, StreamAnswer, WholeAnswer } from './stream/event-source.ts';
import { EventStream } from './stream/event-stream.ts';
import { readNativeAnswer } from './stream/pass-through.ts';
import { TypedStream } from './stream/typed-stream.ts';
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

/** When the client sets no cap. */
const DEFAULT_OUTPUT = 16_384;

function readChatOrder(call: ChatCall, parts: RelayParts): Order {
  const route = resolve(parts.catalog(), call.selector);
  const ceiling: Ceiling = {
    kind: 'tokens',
    input: inputCeiling(call.request, call.size, route.model.contextTokens),
    output: outputCap(call, route.model.maxOutput),
    choices: call.request.n ?? 1,
  };
  return { route, ceiling, price: priceFor(route.model) };
}

/** The request as the backend gets it: the cap that the hold covers is always in it, so that the bound is true. */
function withCap(request: ChatRequest, output: number): ChatRequest {
  // `undefined` is not printed, and cheaper than leaving a field out of the copy.
  return request.max_completion_tokens === undefined
    ? { ...request, max_tokens: output }
    : { ...request, max_tokens: undefined, max_completion_tokens: output };
}

function outputCap(call: Call<ChatRequest>, maxOutput: number): number {
  const { max_completion_tokens: newer, max_tokens: older } = call.request;
  const asked = newer ?? older;
  if (asked === undefined) return Math.min(maxOutput, DEFAULT_OUTPUT);
  if (asked > maxOutput && call.cap === 'strict') {
    const param = newer === undefined ? 'max_tokens' : 'max_completion_tokens';
    throw new Fault('invalid_field', `${param} must be at most ${maxOutput} for this model.`, { param });
  }
  return Math.min(asked, maxOutput);
}

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
export async function readFirstEvent(answer: ChatAnswer, signals: OpeningSignals): Promise<StartedAnswer> {
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

/**
 * An upper bound of the input tokens, taken from the size of the body rather than from its text: two characters a token,
 * every further byte of a non-ASCII character a token of its own, and a flat number for each attachment, whose base64
 * is no text. No tokenizer comes out higher on ordinary text, and reading the size costs nothing.
 */
export function inputCeiling(request: ChatRequest, size: BodySize, contextTokens: number): number {
  const attached = attachments(request);
  const text = Math.ceil((size.characters - attached.characters) / CHARACTERS_PER_TOKEN);
  const bound = text + (size.bytes - size.characters) + attached.tokens;
  // Ordinary text has four characters a token: half the bound beyond the window cannot fit into it.
  if ((bound - attached.tokens) / 2 > contextTokens) {
    throw new Fault(
      'context_length_exceeded',
      `The messages do not fit into the model's ${contextTokens} tokens.`,
      {
        param: 'messages',
      },
    );
  }
  return Math.min(bound, contextTokens);
}

const CHARACTERS_PER_TOKEN = 2;
const IMAGE_TOKENS = 4_000;
const BASE64_PER_AUDIO_TOKEN = 100;
const BASE64_PER_FILE_TOKEN = 8;

interface Attached {
  characters: number;
  tokens: number;
}

function attachments(request: ChatRequest): Attached {
  const total: Attached = { characters: 0, tokens: 0 };
  for (const { content } of request.messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) {
      const one = attachment(part);
      total.characters += one.characters;
      total.tokens += one.tokens;
    }
  }
  return total;
}

function attachment(part: ContentPart): Attached {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { characters: 0, tokens: 0 };
    case 'image_url': {
      const { url } = part.image_url;
      return { characters: url.startsWith('data:') ? url.length : 0, tokens: IMAGE_TOKENS };
    }
    case 'input_audio':
      return encoded(part.input_audio.data, BASE64_PER_AUDIO_TOKEN);
    case 'file':
      return encoded(part.file.file_data, BASE64_PER_FILE_TOKEN);
  }
}

function encoded(data: unknown, charactersPerToken: number): Attached {
  const characters = typeof data === 'string' ? data.length : 0;
  return { characters, tokens: Math.ceil(characters / charactersPerToken) };
}
