import { Fault } from '../../std/fault.ts';
import { encodeEvent } from '../../std/sse.ts';
import { faultBody } from '../fault-body.ts';
import { usageChunk, type ChatEncoder } from '../openai/answer.ts';
import type { ChatChunk, ChatCompletion, ChatUsage, FinishReason } from '../openai/chat.ts';
import {
  ChunkReader,
  isWholeObject,
  type CallPart,
  type ChunkPart,
  type TokenCounts,
} from '../openai/chunk-parts.ts';
import { bareId, responseObject, statusOf, type ResponseContext, type ResponseObject } from './answer.ts';
import {
  addToCall,
  addToMessage,
  addToReasoning,
  annotateMessage,
  closeItem,
  newCall,
  newMessage,
  newReasoning,
  openItem,
  type NewEvent,
  type ResponsesEvent,
  type Emit,
  type OpenCall,
  type OpenItem,
  type OpenMessage,
  type OpenReasoning,
} from './items.ts';
import { toolOrigins, type ToolOrigins } from './tools.ts';

export interface ResponsesEncoder extends ChatEncoder {
  /** The answer, once it is complete and before `done`; with the usage where the backend has reported none. */
  whole(usage: ChatUsage | undefined): ResponseObject;
}

/** The stream of the Responses API: numbered events, ended by `response.completed`, `.incomplete` or `.failed`. */
export function responsesEncoder(context: ResponseContext): ResponsesEncoder {
  const state = openResponse(context);
  let ended: ResponsesEvent[] | undefined;
  const end = (): ResponsesEvent[] => (ended ??= endOfItems(state));
  return {
    chunk: (_data, chunk) => encodeAll(reduceResponse(state, chunk)),
    error: (fault) => encodeAll(failResponse(state, fault)),
    done: () => encodeAll([...end(), ...endOfResponse(state)]),
    whole: (usage) => {
      if (usage) reduceResponse(state, usageChunk({ id: context.id, model: context.model }, usage, 0));
      end();
      return finalObject(state);
    },
  };
}

/** A whole answer is treated as a stream of one chunk; its last event contains the answer. */
export function chatToResponse(completion: ChatCompletion, context: ResponseContext): ResponseObject {
  const state = openResponse(context);
  for (const part of state.reader.read(completion)) takePart(state, part, ignoreEvent);
  endItems(state, ignoreEvent);
  return finalObject(state);
}

export function openResponse(context: ResponseContext): ResponsesState {
  return {
    context,
    origins: toolOrigins(context.request),
    reader: new ChunkReader(),
    items: [],
    current: undefined,
    calls: new Map(),
    tokens: undefined,
    reason: 'stop',
    started: false,
    nextSequence: 0,
    bufferedLength: 0,
  };
}

/** The events for one canonical chunk. */
export function reduceResponse(state: ResponsesState, chunk: ChatChunk): ResponsesEvent[] {
  return collect(state, (emit) => {
    for (const part of state.reader.read(chunk)) takePart(state, part, emit);
  });
}

function endOfItems(state: ResponsesState): ResponsesEvent[] {
  return collect(state, (emit) => endItems(state, emit));
}

function endOfResponse(state: ResponsesState): ResponsesEvent[] {
  return collect(state, (emit) => {
    const response = finalObject(state);
    emit({ type: response.status === 'incomplete' ? 'response.incomplete' : 'response.completed', response });
  });
}

/** SDKs raise at `error` and agents act on `response.failed`, so both are sent, in OpenAI's order. */
function failResponse(state: ResponsesState, fault: Fault): ResponsesEvent[] {
  const { code, message, type, param } = faultBody(fault).error;
  const error = { code, message, type, param };
  return collect(state, (emit) => {
    emit({ type: 'error', code, message, param, error });
    const output = state.items.flatMap((item) => (item.done ? [item.done] : []));
    const response = responseObject(state.context, { status: 'failed', output, tokens: state.tokens, error });
    emit({ type: 'response.failed', response });
  });
}

interface ResponsesState {
  readonly context: ResponseContext;
  readonly origins: ToolOrigins;
  readonly reader: ChunkReader;
  /** All items of the answer that have been announced, by output index. */
  readonly items: OpenItem[];
  /** The message or the thoughts being written; calls may be open at the same time. */
  current: OpenMessage | OpenReasoning | undefined;
  readonly calls: Map<number, OpenCall>;
  tokens: TokenCounts | undefined;
  reason: FinishReason;
  started: boolean;
  nextSequence: number;
  bufferedLength: number;
}

/** The answer is kept to be repeated at the end. Sixteen million characters is far above what any model writes. */
const MAX_BUFFERED_LENGTH = 16_000_000;

function encodeAll(events: readonly ResponsesEvent[]): string {
  return events.map((event) => encodeEvent(JSON.stringify(event), event.type)).join('');
}

function ignoreEvent(): void {
  // A whole answer needs no events, only the resulting state.
}

function collect(state: ResponsesState, produce: (emit: Emit) => void): ResponsesEvent[] {
  const events: ResponsesEvent[] = [];
  const emit = (event: NewEvent): void =>
    void events.push({ ...event, sequence_number: state.nextSequence++ });
  if (!state.started) {
    state.started = true;
    const response = responseObject(state.context, { status: 'in_progress', output: [], tokens: undefined });
    emit({ type: 'response.created', response });
    emit({ type: 'response.in_progress', response });
  }
  produce(emit);
  return events;
}

function takePart(state: ResponsesState, part: ChunkPart, emit: Emit): void {
  switch (part.kind) {
    case 'text':
      return takeText(state, 'output_text', part, emit);
    case 'annotations':
      return annotateMessage(currentMessage(state, emit), part.annotations, emit);
    case 'refusal':
      return takeText(state, 'refusal', part, emit);
    case 'reasoning':
      return takeReasoning(state, part.text, emit);
    case 'encrypted':
      buffer(state, part.data);
      currentReasoning(state, emit).encrypted = part.data;
      return;
    case 'signature':
      // This dialect has no place for it: its encrypted content is another provider's.
      return;
    case 'call':
      return takeCall(state, part, emit);
    case 'finish':
      state.reason = part.reason;
      return;
    case 'usage':
      state.tokens = part.tokens;
      return;
  }
}

type TextPart = Extract<ChunkPart, { kind: 'text' | 'refusal' }>;

function takeText(state: ResponsesState, type: 'output_text' | 'refusal', part: TextPart, emit: Emit): void {
  buffer(state, part.text);
  addToMessage(currentMessage(state, emit), type, part, emit);
}

function currentMessage(state: ResponsesState, emit: Emit): OpenMessage {
  if (state.current?.kind === 'message') return state.current;
  beginItem(state, emit);
  const message = newMessage(`msg_${bareId(state.context)}_${state.items.length}`, state.items.length);
  state.current = message;
  announce(state, message, emit);
  return message;
}

function takeReasoning(state: ResponsesState, text: string, emit: Emit): void {
  buffer(state, text);
  addToReasoning(currentReasoning(state, emit), text, emit);
}

function currentReasoning(state: ResponsesState, emit: Emit): OpenReasoning {
  if (state.current?.kind === 'reasoning') return state.current;
  beginItem(state, emit);
  const thoughts = newReasoning(`rs_${bareId(state.context)}_${state.items.length}`, state.items.length);
  state.current = thoughts;
  announce(state, thoughts, emit);
  return thoughts;
}

function takeCall(state: ResponsesState, part: CallPart, emit: Emit): void {
  buffer(state, part.arguments);
  const call = state.calls.get(part.call) ?? newCall();
  state.calls.set(part.call, call);
  if (call.done) return;
  call.callId ??= part.id;
  call.name ??= part.name;
  call.arguments += part.arguments;
  // A call cannot be announced before its name is known.
  if (call.name === undefined) return;
  if (call.index === undefined) announceCall(state, call, part.call, emit);
  else addToCall(call, part.arguments, emit);
}

function announceCall(state: ResponsesState, call: OpenCall, number: number, emit: Emit): void {
  beginItem(state, emit);
  const index = state.items.length;
  const bare = bareId(state.context);
  const name = call.name ?? '';
  call.origin = state.origins.get(name) ?? { kind: 'function', name, namespace: undefined };
  call.index = index;
  call.id = `${call.origin.kind === 'custom' ? 'ctc' : 'fc'}_${bare}_${index}`;
  call.callId ??= `call_${bare}_${number}`;
  announce(state, call, emit);
  addToCall(call, call.arguments, emit);
}

function announce(state: ResponsesState, item: OpenItem, emit: Emit): void {
  state.items.push(item);
  openItem(item, emit);
}

/** Before a new item: text and thoughts are complete, and so is every call with whole arguments. */
function beginItem(state: ResponsesState, emit: Emit): void {
  if (state.current) closeItem(state.current, 'completed', emit);
  state.current = undefined;
  for (const call of state.calls.values()) {
    if (call.index !== undefined && !call.done && isWholeObject(call.arguments))
      closeItem(call, 'completed', emit);
  }
}

function endItems(state: ResponsesState, emit: Emit): void {
  for (const [number, call] of state.calls)
    if (call.index === undefined) announceCall(state, call, number, emit);
  const status = statusOf(state.reason);
  for (const item of state.items) if (!item.done) closeItem(item, status, emit);
  state.current = undefined;
}

function finalObject(state: ResponsesState): ResponseObject {
  const output = state.items.flatMap((item) => (item.done ? [item.done] : []));
  const { reason, tokens } = state;
  return responseObject(state.context, { status: statusOf(reason), output, tokens, reason });
}

function buffer(state: ResponsesState, text: string): void {
  state.bufferedLength += text.length;
  if (state.bufferedLength > MAX_BUFFERED_LENGTH) {
    throw new Fault('upstream_error', 'The backend wrote an answer without end.');
  }
}
