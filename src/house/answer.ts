import type { StreamEvent } from '../wire/openai/answer.ts';
import type {
  AssistantMessage,
  ChatChunk,
  ChatCompletion,
  ChatUsage,
  ToolCall,
} from '../wire/openai/chat.ts';
import { UpstreamFailure, type ChatAnswer, type UpstreamChatCall } from '../upstream/port.ts';
import { promptText } from './conversation.ts';
import { pause, paced } from './pacing.ts';
import { cutReply, replyDeltas, replyTokens, type HouseReply } from './reply.ts';
import { tokenCount } from './tokens.ts';

/** How a reply is delivered: at what pace, and whether it breaks half-way. */
export interface ReplyPacing {
  readonly pauseMs: number;
  /** `event`: an error event; `cut`: the connection ends without an error; `stall`: nothing is sent until `idleMs` is over. */
  readonly breaks?: 'event' | 'cut' | 'stall' | undefined;
}

interface Production {
  readonly call: UpstreamChatCall;
  readonly reply: HouseReply;
  readonly delivery: ReplyPacing;
  readonly createdS: number;
  readonly idleMs: number;
}

/** A reply as an answer: one object, or a stream of chunks with the same content. */
export async function produceAnswer(production: Production): Promise<ChatAnswer> {
  const { request } = production.call;
  const stop = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []);
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? DEFAULT_MAX_TOKENS;
  const cut = { ...production, reply: cutReply(production.reply, { maxTokens, stop }) };
  return request.stream === true ? stream(cut) : whole(cut);
}

const DEFAULT_MAX_TOKENS = 16_384;
/** The longest delay of a non-streamed answer, however slow it was requested. */
const MAX_WAIT_MS = 120_000;

function usageOf({ call, reply }: Pick<Production, 'call' | 'reply'>): ChatUsage {
  const prompt = tokenCount(promptText(call.request));
  const { all, reasoning } = replyTokens(reply);
  const choices = call.request.n ?? 1;
  return {
    prompt_tokens: prompt,
    completion_tokens: all * choices,
    total_tokens: prompt + all * choices,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning * choices },
  };
}

async function whole(production: Production): Promise<ChatAnswer> {
  const { call, reply, delivery, createdS } = production;
  const waitMs = Math.min(MAX_WAIT_MS, delivery.pauseMs * replyDeltas(reply).length);
  await pause(waitMs, call.signal);
  if (delivery.breaks)
    throw new UpstreamFailure('server', 'house-echo was told to break off', { status: 500, blameless: true });
  const message = messageOf(reply);
  const completion: ChatCompletion = {
    id: `chatcmpl-${call.requestId}`,
    object: 'chat.completion',
    created: createdS,
    model: call.model,
    choices: choiceIndexes(call).map((index) => ({
      index,
      message,
      finish_reason: reply.finish,
      logprobs: null,
    })),
    usage: usageOf(production),
  };
  return { kind: 'completion', completion };
}

function messageOf(reply: HouseReply): AssistantMessage {
  const join = (kind: 'text' | 'reasoning'): string =>
    reply.parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join('');
  const calls = reply.parts.flatMap((part): ToolCall[] =>
    part.kind === 'tool'
      ? [{ id: part.id, type: 'function', function: { name: part.name, arguments: part.arguments } }]
      : [],
  );
  const text = join('text');
  const reasoning = join('reasoning');
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    refusal: null,
  };
}

function choiceIndexes(call: UpstreamChatCall): number[] {
  return Array.from({ length: call.request.n ?? 1 }, (_, index) => index);
}

function stream(production: Production): ChatAnswer {
  const { call, delivery } = production;
  const events = paced(breaking(production, [...eventsOf(production)]), {
    pauseMs: delivery.pauseMs,
    signal: call.signal,
    stall: delivery.breaks === 'stall' ? { afterMs: production.idleMs } : undefined,
  });
  return { kind: 'events', events };
}

function* eventsOf(production: Production): Generator<StreamEvent> {
  const { call, reply, createdS } = production;
  const envelope = {
    id: `chatcmpl-${call.requestId}`,
    object: 'chat.completion.chunk',
    created: createdS,
    model: call.model,
  } as const;
  const event = (choices: ChatChunk['choices'], usage: ChatUsage | null = null): StreamEvent => ({
    kind: 'chunk',
    chunk: { ...envelope, choices, usage },
  });
  const indexes = choiceIndexes(call);
  for (const index of indexes)
    yield event([{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }]);
  for (const delta of replyDeltas(reply)) {
    for (const index of indexes) yield event([{ index, delta, finish_reason: null }]);
  }
  for (const index of indexes) yield event([{ index, delta: {}, finish_reason: reply.finish }]);
  // Always sent: the caller meters by it and hides it from a client that did not ask.
  yield event([], usageOf(production));
  yield { kind: 'done' };
}

/** Half of the events, then the requested failure. */
function breaking({ delivery }: Production, events: readonly StreamEvent[]): readonly StreamEvent[] {
  if (!delivery.breaks) return events;
  const half = events.slice(0, Math.ceil(events.length / 2));
  return delivery.breaks === 'event' ? [...half, BROKEN] : half;
}

const BROKEN: StreamEvent = {
  kind: 'error',
  message: 'house-echo was told to fail in the middle of its stream.',
};
