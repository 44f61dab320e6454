import { OUTPUT_FLOOR } from '../ledger/decide.ts';
import { priceFor, type Model, type OnDisconnect } from '../catalog/catalog.ts';
import type { Settled } from '../ledger/port.ts';
import type { TokenCeiling } from '../ledger/price.ts';
import { mayHaveLargeTokens, mayNeedReport } from '../ledger/priced-parts.ts';
import { Fault } from '../std/fault.ts';
import type { JsonText } from '../std/json-parse.ts';
import { UpstreamFailure, type ChatAnswer, type Upstream } from '../upstream/port.ts';
import { readCompletion, presentCompletion } from '../wire/openai/answer.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import { withUnreported } from './attempt-costs.ts';
import type { AttemptOptions } from './attempts.ts';
import type {
  BodySize,
  Call,
  ChatCall,
  ChatReply,
  ClientConnection,
  NativeRequest,
  Quote,
  RelayParts,
  UncountedInput,
} from './call.ts';
import { leastWebSearches, pricedOptions } from './priced-options.ts';
import { Delivery, type StreamEnd } from './stream/delivery.ts';
import { attachmentSizes, NO_ATTACHMENTS, type AttachmentSizes } from './input/attachments.ts';
import { ChatInput, type InputCount } from './input/chat-input.ts';
import { RequestCounter } from './input/request-counter.ts';
import { finishReasonOf, Meter, reportedWhole, type MeterSource } from './stream/meter.ts';
import { usageOf, type MeteredUsage } from './stream/reported-usage.ts';
import type { StartedAnswer, StreamAnswer, WholeAnswer } from './stream/event-source.ts';
import { EventStream } from './stream/event-stream.ts';
import { readNativeAnswer } from './stream/pass-through.ts';
import { TypedStream } from './stream/typed-stream.ts';
import { quoteOf, routeOf } from './admission.ts';
import { knobsFor } from './knobs.ts';
import { relay, type AdmittedCall, type AnsweredCall, type Operation } from './relay.ts';

export function quoteChatCall(call: ChatCall, parts: RelayParts): Quote | Promise<Quote> {
  return quoteOf(CHAT, call, parts);
}

export function relayChat(call: ChatCall, parts: RelayParts): Promise<ChatReply> {
  return relay(CHAT, call, parts);
}

interface ChatQuote extends Quote {
  readonly input: QuotedInput;
  readonly hasAttachments: boolean;
}

type AnsweredChat = AnsweredCall<ChatCall, ChatQuote, StartedAnswer>;

export const CHAT: Operation<ChatCall, ChatQuote, StartedAnswer, ChatReply> = {
  quote: quoteChat,
  isStreamed: ({ request }) => request.stream === true,
  callUpstream,
  deliver(answered) {
    const { answer } = answered.served;
    return answer.kind === 'stream' ? respondStream(answered, answer) : respondWhole(answered, answer);
  },
};

/** Without the backend's report, usage that only the report tells would have to be guessed. */
function whenClientLeft({ quote }: AnsweredChat, meter: Meter): OnDisconnect {
  const { onDisconnect, finishesForReport } = quote.route.model;
  return onDisconnect === 'finish' || (finishesForReport && needsReport(quote, meter)) ? 'finish' : 'stop';
}

function needsReport({ price, ceiling, hasAttachments }: ChatQuote, { hasReportedInput }: Meter): boolean {
  return (hasAttachments && !hasReportedInput) || mayNeedReport(price, ceiling.extra, hasReportedInput);
}

/** However it ended, known usage is charged, and usage that only its report would tell is a possible cost. */
async function settleStream(
  { quote, summary, hold, served }: AnsweredChat,
  meter: Meter,
  end: StreamEnd,
): Promise<Settled | undefined> {
  const isUnknown =
    end.measured.source !== 'upstream' && (quote.route.model.hidesReasoning || needsReport(quote, meter));
  const attempts = isUnknown
    ? await withUnreported(served.attempts, end.measured, quote, summary.outputCap)
    : served.attempts;
  return await hold.settle({ ...served, ...end, attempts, finishReason: meter.finishReason });
}

async function settleAndKeep(
  answered: AnsweredChat,
  meter: Meter,
  end: StreamEnd,
): Promise<Settled | undefined> {
  const { call, summary } = answered;
  const answer = { accountId: summary.accountId, usage: usageOf(end.measured) };
  const kept = end.outcome === 'completed' ? call.onComplete?.(answer) : undefined;
  const settled = await settleStream(answered, meter, end);
  await kept;
  return settled;
}

/** Plain tokens only, as in most chats. */
function isOrdinary({ price, ceiling }: ChatQuote): boolean {
  return price.extra === undefined && ceiling.extra === undefined;
}

/** Used when the client sets no cap. */
const DEFAULT_OUTPUT = 16_384;

function quoteChat(call: ChatCall, parts: RelayParts): ChatQuote {
  const route = routeOf(call, parts);
  const { request, size, nativeRequest } = call;
  const withParts = hasParts(request);
  const attached = withParts ? attachmentSizes(request, route.model) : NO_ATTACHMENTS;
  const overhead = inputOverhead(request);
  const price = priceFor(route.model);
  const bound = inputBound(size, overhead, attached);
  const ceiling = {
    kind: 'tokens' as const,
    input: bound,
    output: outputCap(call, route.model.maxOutput),
    choices: request.n ?? 1,
    extra: !withParts && isPlain(call) ? undefined : pricedOptions(request, nativeRequest),
  };
  const input = new QuotedInput({ call, model: route.model, parts, ceiling, attached, overhead });
  return {
    route,
    ceiling,
    price,
    leastShare: leastShareOf(request, route.model),
    leastWebSearches: ceiling.extra && leastWebSearches(request, price),
    input,
    hasAttachments: attached.tokens > 0,
    uncounted: input,
    mayBeTooLong: bound - attached.tokens > MOST_BYTES_PER_TOKEN * route.model.contextTokens,
  };
}

interface QuotedInputParts {
  readonly call: ChatCall;
  readonly model: Model;
  readonly parts: RelayParts;
  readonly ceiling: TokenCeiling;
  readonly attached: AttachmentSizes;
  readonly overhead: number;
}

/** The input of a quoted chat. What counts it is made when it is first asked for: the bound is enough for most requests. */
class QuotedInput implements UncountedInput, MeterSource {
  readonly #call: ChatCall;
  readonly #model: Model;
  readonly #parts: RelayParts;
  readonly #ceiling: TokenCeiling;
  readonly #attached: AttachmentSizes;
  readonly #overhead: number;
  #made: ChatInput | undefined;

  constructor({ call, model, parts, ceiling, attached, overhead }: QuotedInputParts) {
    this.#call = call;
    this.#model = model;
    this.#parts = parts;
    this.#ceiling = ceiling;
    this.#attached = attached;
    this.#overhead = overhead;
  }

  async ceilingByCount(client?: AbortSignal): Promise<TokenCeiling> {
    const ceiling = this.#ceiling;
    const counted = await this.#input.countForHold(client);
    return { ...ceiling, input: countedBound(counted, ceiling.input, this.#model) };
  }

  chargedInput(): Promise<number> {
    return this.#input.chargedInput();
  }

  knownInput(): number {
    return this.#input.knownInput();
  }

  countOutput(texts: readonly string[]): Promise<number> {
    return this.#input.countOutput(texts);
  }

  get #input(): ChatInput {
    const { request, nativeRequest, caller } = this.#call;
    return (this.#made ??= new ChatInput({
      request,
      native: nativeRequest?.body,
      counter: new RequestCounter(this.#parts, this.#model, caller),
      attachments: this.#attached,
      overhead: this.#overhead,
      bound: this.#ceiling.input,
    }));
  }
}

/**
 * Text has fewer bytes per token than this: a text that is too long for the context even so may not fit, and is counted
 * to be sure.
 */
const MOST_BYTES_PER_TOKEN = 3;

/** Input that was not counted in time stays at its bound, even beyond the context: the backend may bill all of it. */
function countedBound(counted: InputCount | undefined, bound: number, model: Model): number {
  if (!counted) return bound;
  if (counted.textTokens > model.contextTokens) {
    throw new Fault(
      'context_length_exceeded',
      `The messages have ${counted.textTokens} tokens; the model has room for ${model.contextTokens}.`,
      { param: 'messages' },
    );
  }
  return counted.bound;
}

/** It asks for nothing with a price of its own besides the content of its messages, like most chats. */
function isPlain({ request, nativeRequest }: ChatCall): boolean {
  return (
    nativeRequest === undefined &&
    request.tools === undefined &&
    request['service_tier'] === undefined &&
    request['modalities'] === undefined &&
    request['web_search_options'] === undefined &&
    request['cache_control'] === undefined
  );
}

function hasParts({ messages }: ChatRequest): boolean {
  for (const { content } of messages) if (Array.isArray(content)) return true;
  return false;
}

/**
 * The request as the backend gets it: under its own name of the model, and always with the cap that the hold covers, so
 * that the hold is an upper bound.
 */
function requestFor(request: ChatRequest, model: string, output: number): ChatRequest {
  // JSON leaves `undefined` out, and setting it is cheaper than copying the object without the field.
  return request.max_completion_tokens === undefined
    ? { ...request, model, max_tokens: output }
    : { ...request, model, max_tokens: undefined, max_completion_tokens: output };
}

function requestedCap({ max_completion_tokens, max_tokens }: ChatRequest): number | undefined {
  return max_completion_tokens ?? max_tokens;
}

function outputCap(call: Call<ChatRequest>, maxOutput: number): number {
  const requested = requestedCap(call.request);
  if (requested === undefined) return Math.min(maxOutput, DEFAULT_OUTPUT);
  if (requested > maxOutput && call.cap === 'strict') {
    const { max_completion_tokens: newField } = call.request;
    const param = newField === undefined ? 'max_tokens' : 'max_completion_tokens';
    throw new Fault('invalid_field', `${param} must be at most ${maxOutput} for this model.`, { param });
  }
  return Math.min(requested, maxOutput);
}

/** A model with hidden reasoning may need all of these tokens before its first word. */
const LEAST_HIDDEN_OUTPUT = 8_192;

function leastShareOf(request: ChatRequest, { hidesReasoning }: Model): number | undefined {
  if (requestedCap(request) !== undefined) return undefined;
  return hidesReasoning ? LEAST_HIDDEN_OUTPUT : OUTPUT_FLOOR;
}

/**
 * Calls one backend for a chat: in the client's own dialect where the backend speaks it, otherwise in the canonical
 * form.
 */
function callUpstream(
  admitted: AdmittedCall<ChatCall, Quote>,
  upstream: Upstream,
  attempt: AttemptOptions,
): Promise<StartedAnswer> {
  const { call, admission } = admitted;
  const { nativeRequest, knobs, connection } = call;
  if (nativeRequest && upstream.messages) return callNatively(admitted, nativeRequest, upstream, attempt);
  if (nativeRequest?.untranslatable) throw cannotTranslate(nativeRequest.untranslatable);
  const asked = knobs ? knobsFor(call.request, knobs, targetOf(admitted, upstream)) : call.request;
  const { model, form, signal, trace } = attempt;
  const request = requestFor(asked, model, admission.output);
  const answer = upstream.chat({ model, form, request, signal, requestId: call.requestId, trace });
  return request.stream === true ? firstEventOf(answer, signal, connection) : answer.then(wholeAnswer);
}

function firstEventOf(
  answer: Promise<ChatAnswer>,
  signal: AbortSignal,
  connection: ClientConnection,
): Promise<StartedAnswer> {
  return answer.then((begun) => readFirstEvent(begun, signal, connection));
}

async function callNatively(
  admitted: AdmittedCall<ChatCall, Quote>,
  { version, beta, body: asked }: NativeRequest,
  upstream: Upstream,
  attempt: AttemptOptions,
): Promise<StartedAnswer> {
  const { call, admission } = admitted;
  const { output: maxTokens } = admission;
  const { requestId, knobs, label } = call;
  const body = knobs ? knobsFor(asked, knobs, targetOf(admitted, upstream)) : asked;
  const answer = await upstream.messages?.({ ...attempt, body, version, beta, maxTokens, requestId });
  if (!answer) throw new Error(`${upstream.name} does not speak this dialect`);
  return await readNativeAnswer(answer, label);
}

function targetOf({ quote, parts }: AdmittedCall<ChatCall, Quote>, { name }: Upstream) {
  return { quote, upstream: name, parts };
}

function cannotTranslate({ message, param }: Fault): UpstreamFailure {
  return new UpstreamFailure('rejected', message, { publicMessage: message, param });
}

/** Reads a backend's answer until it has proved to be one, while another backend could still be tried. */
export function readFirstEvent(
  answer: ChatAnswer,
  signal: AbortSignal,
  connection: ClientConnection,
): StartedAnswer | Promise<StartedAnswer> {
  switch (answer.kind) {
    case 'stream':
      return EventStream.open(answer.body, { signal, client: connection.signal }).then(asStream);
    case 'events':
      return TypedStream.open(answer.events, { signal, client: connection.signal }).then(asStream);
    case 'whole':
    case 'completion':
      return wholeAnswer(answer);
  }
}

/** All requests that ask for no stream share this function: one of their own would be made for each of them. */
function wholeAnswer(answer: ChatAnswer): WholeAnswer {
  if (answer.kind === 'whole') return readWhole(answer.json);
  if (answer.kind !== 'completion')
    throw new UpstreamFailure('protocol', 'asked for a whole answer, got a stream');
  const { completion } = answer;
  return { kind: 'whole', text: JSON.stringify(completion), completion };
}

function asStream(events: StreamAnswer['events']): StreamAnswer {
  return { kind: 'stream', events };
}

function readWhole({ text, value, members }: JsonText): WholeAnswer {
  const completion = readCompletion(value);
  if (!completion) throw new UpstreamFailure('protocol', 'the answer is not a chat completion');
  return { kind: 'whole', text, completion, ...(members && { members }) };
}

/** Meters and charges a whole answer, then responds with it. */
function respondWhole(answered: AnsweredChat, whole: WholeAnswer): Promise<ChatReply> {
  const reported = reportedWhole(whole.completion);
  return reported ? chargeWhole(answered, whole, reported) : chargeCounted(answered, whole);
}

async function chargeCounted(answered: AnsweredChat, whole: WholeAnswer): Promise<ChatReply> {
  const measured = await new Meter(answered.quote.input).observeWhole(whole.completion);
  return await chargeWhole(answered, whole, measured);
}

function chargeWhole(
  { call, quote, summary, hold, served, parts }: AnsweredChat,
  whole: WholeAnswer,
  measured: MeteredUsage,
): Promise<ChatReply> {
  const finishReason = finishReasonOf(whole.completion);
  const outcome = call.connection.hasLeft ? 'client_left' : 'completed';
  const { upstream, attempts, firstByteMs } = served;
  const labels = { id: call.requestId, model: call.label };
  const shown = presentCompletion(whole, labels, usageOf(measured), parts.clock.now());
  const kept = call.onComplete?.({ accountId: summary.accountId, completion: shown.completion });
  const settled = hold.settle({ upstream, attempts, firstByteMs, quote, outcome, measured, finishReason });
  const closing = kept ? Promise.all([settled, kept]).then(([closed]) => closed) : settled;
  return closing.then((closed) => ({
    kind: 'whole',
    summary,
    shown,
    charged: closed?.charged,
  }));
}

/** Meters a stream while it passes and charges it when it ends, whichever side ends it. */
function respondStream(answered: AnsweredChat, stream: StreamAnswer): ChatReply {
  const { call, quote, summary, served, parts } = answered;
  const meter = new Meter(quote.input);
  const delivery = Delivery.of(call, stream, {
    meter,
    clock: parts.clock,
    limits: parts.upstreams.timeouts(served.upstream),
    outputCap: summary.outputCap,
    hasLargeTokens:
      call.request['logprobs'] === true ||
      (!isOrdinary(quote) && mayHaveLargeTokens(quote.price, quote.ceiling.extra)),
    onClientLeft: () => whenClientLeft(answered, meter),
    onEnd: call.onComplete
      ? (end) => settleAndKeep(answered, meter, end)
      : (end) => settleStream(answered, meter, end),
  });
  parts.activeRequests.add(delivery);
  if (call.connection.hasLeft) delivery.leave();
  return { kind: 'stream', summary, body: delivery.body() };
}

/**
 * An upper bound on the input tokens, for any text and any model: no tokenizer makes more than one token of a byte, and
 * escapes in JSON are longer than what they stand for. Reading the size costs nothing.
 */
export function inputBound(size: BodySize, overhead: number, attached: AttachmentSizes): number {
  return Math.max(0, size.bytes - attached.characters) + overhead + attached.tokens;
}

/** The most that a model's template puts around a message, around tools, and around all of it. */
const MOST_TOKENS_PER_MESSAGE = 8;
/** Anthropic's instructions for tools have up to 530 tokens, by its documentation of tool use. */
const MOST_TOKENS_FOR_TOOLS = 600;
const MOST_TOKENS_FOR_REQUEST = 16;

function inputOverhead({ messages, tools }: ChatRequest): number {
  const forTools = tools === undefined ? 0 : MOST_TOKENS_FOR_TOOLS;
  return MOST_TOKENS_FOR_REQUEST + MOST_TOKENS_PER_MESSAGE * messages.length + forTools;
}
