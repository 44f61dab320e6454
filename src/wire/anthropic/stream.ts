import { Fault } from '../../std/fault.ts';
import {
  messageId,
  messagesErrorBody,
  messagesUsage,
  stopReason,
  toolUseId,
  type AnswerBlock,
  type AnswerLabels,
  type MessagesAnswer,
  type MessagesErrorBody,
  type MessagesUsage,
  type StopReason,
} from './answer.ts';
import type { ChatChunk, FinishReason } from '../openai/chat.ts';
import type { ChatEncoder } from '../openai/answer.ts';
import {
  ChunkReader,
  isWholeObject,
  type CallPart,
  type ChunkPart,
  type TokenCounts,
} from '../openai/chunk-parts.ts';
import { encodeEvent } from '../../std/sse.ts';

/** The stream of the Messages API: named events, ended by `message_stop` or `error`, never by `[DONE]`. */
export function messagesEncoder(labels: AnswerLabels, inputTokens: number): ChatEncoder {
  const state = openMessages(labels, inputTokens);
  return {
    chunk: (_data, chunk) => encodeAll(reduceMessages(state, chunk)),
    error: (fault) => encodeAll([messagesErrorBody(fault, labels.id)]),
    done: () => encodeAll(closeMessages(state)),
  };
}

/** `inputTokens` is our estimate; the last event reports what the backend counted. */
export function openMessages(labels: AnswerLabels, inputTokens: number): MessagesState {
  return {
    labels,
    reader: new ChunkReader(),
    tokens: { input: inputTokens, cached: 0, output: 0, reasoning: 0 },
    open: [],
    calls: new Map(),
    started: false,
    nextIndex: 0,
    reason: 'stop',
    refused: false,
    bufferedLength: 0,
  };
}

/** The events for one canonical chunk. */
export function reduceMessages(state: MessagesState, chunk: ChatChunk): MessagesEvent[] {
  const events: MessagesEvent[] = [];
  startMessage(state, events);
  for (const part of state.reader.read(chunk)) takePart(state, part);
  writeBlocks(state, events);
  return events;
}

/** The end of the answer: writes and closes whatever is open, then reason and usage. */
export function closeMessages(state: MessagesState): MessagesEvent[] {
  const events: MessagesEvent[] = [];
  startMessage(state, events);
  for (const block of state.open) {
    writeBlock(state, block, events);
    stopBlock(block, events);
  }
  state.open.length = 0;
  const reason = stopReason({
    reason: state.reason,
    usesTools: state.calls.size > 0,
    refused: state.refused,
  });
  events.push({
    type: 'message_delta',
    delta: { stop_reason: reason, stop_sequence: null },
    usage: messagesUsage(state.tokens),
  });
  events.push({ type: 'message_stop' });
  return events;
}

interface MessagesState {
  readonly labels: AnswerLabels;
  readonly reader: ChunkReader;
  tokens: TokenCounts;
  /**
   * Blocks that have begun and not ended. Blocks of this dialect never overlap: the first is being written, the others
   * buffer their content until it is complete.
   */
  readonly open: Block[];
  readonly calls: Map<number, CallBlock>;
  started: boolean;
  nextIndex: number;
  reason: FinishReason;
  refused: boolean;
  bufferedLength: number;
}

type Block = TextBlock | ThinkingBlock | CallBlock;

interface BlockBase {
  /** Assigned when the start is written. */
  index: number | undefined;
  waiting: string;
}
interface TextBlock extends BlockBase {
  readonly kind: 'text';
}
interface ThinkingBlock extends BlockBase {
  readonly kind: 'thinking';
  signature: string;
}
interface CallBlock extends BlockBase {
  readonly kind: 'call';
  readonly call: number;
  id: string | undefined;
  name: string | undefined;
  arguments: string;
  closed: boolean;
}

export type MessagesEvent =
  | { type: 'message_start'; message: MessagesAnswer }
  | { type: 'ping' }
  | { type: 'content_block_start'; index: number; content_block: AnswerBlock }
  | { type: 'content_block_delta'; index: number; delta: BlockDelta }
  | { type: 'content_block_stop'; index: number }
  | { type: 'message_delta'; delta: { stop_reason: StopReason; stop_sequence: null }; usage: MessagesUsage }
  | { type: 'message_stop' }
  | MessagesErrorBody;

type BlockDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'signature_delta'; signature: string }
  | { type: 'input_json_delta'; partial_json: string };

/** Arguments are buffered until their call ends. Sixteen million characters is far above what any model writes. */
const MAX_BUFFERED_LENGTH = 16_000_000;

function encodeAll(events: readonly MessagesEvent[]): string {
  return events.map((event) => encodeEvent(JSON.stringify(event), event.type)).join('');
}

function startMessage(state: MessagesState, events: MessagesEvent[]): void {
  if (state.started) return;
  state.started = true;
  const message: MessagesAnswer = {
    id: messageId(state.labels.id),
    type: 'message',
    role: 'assistant',
    model: state.labels.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: messagesUsage(state.tokens),
  };
  events.push({ type: 'message_start', message });
}

function takePart(state: MessagesState, part: ChunkPart): void {
  switch (part.kind) {
    case 'text':
      return takeText(state, part.text);
    case 'refusal':
      state.refused = true;
      return takeText(state, part.text);
    case 'reasoning':
      return takeReasoning(state, part.text);
    case 'encrypted':
    case 'annotations':
      // This dialect has no place for another provider's.
      return;
    case 'signature':
      return takeSignature(state, part.signature);
    case 'call':
      return takeCall(state, part);
    case 'finish':
      state.reason = part.reason;
      return;
    case 'usage':
      state.tokens = part.tokens;
      return;
  }
}

function takeText(state: MessagesState, text: string): void {
  const last = state.open.at(-1);
  if (last?.kind === 'text') last.waiting += text;
  else state.open.push({ kind: 'text', index: undefined, waiting: text });
}

function takeReasoning(state: MessagesState, text: string): void {
  const last = state.open.at(-1);
  if (last?.kind === 'thinking') last.waiting += text;
  else state.open.push({ kind: 'thinking', index: undefined, waiting: text, signature: '' });
}

/** A signature belongs to the thinking just before it; a later one has nothing to sign. */
function takeSignature(state: MessagesState, signature: string): void {
  const last = state.open.at(-1);
  if (last?.kind === 'thinking') last.signature = signature;
}

function takeCall(state: MessagesState, part: CallPart): void {
  const block = state.calls.get(part.call) ?? addCall(state, part.call);
  if (block.closed) return;
  block.id ??= part.id;
  block.name ??= part.name;
  block.waiting += part.arguments;
  block.arguments += part.arguments;
  state.bufferedLength += part.arguments.length;
  if (state.bufferedLength > MAX_BUFFERED_LENGTH) {
    throw new Fault('upstream_error', 'The backend wrote tool arguments without end.');
  }
}

function addCall(state: MessagesState, call: number): CallBlock {
  const block: CallBlock = {
    kind: 'call',
    call,
    index: undefined,
    id: undefined,
    name: undefined,
    waiting: '',
    arguments: '',
    closed: false,
  };
  state.calls.set(call, block);
  state.open.push(block);
  return block;
}

/** Writes the first open block as far as it has arrived, and the next ones once those before them are complete. */
function writeBlocks(state: MessagesState, events: MessagesEvent[]): void {
  for (;;) {
    const [block] = state.open;
    // A call cannot be announced before its name is known.
    if (!block || (block.kind === 'call' && block.name === undefined)) return;
    writeBlock(state, block, events);
    if (state.open.length === 1 || !isComplete(block)) return;
    stopBlock(block, events);
    state.open.shift();
  }
}

/** Text and thinking are complete as soon as something else begins; more of it later is a new block. */
function isComplete(block: Block): boolean {
  return block.kind !== 'call' || isWholeObject(block.arguments);
}

function writeBlock(state: MessagesState, block: Block, events: MessagesEvent[]): void {
  if (block.index === undefined) startBlock(state, block, events);
  if (block.waiting !== '') pushDelta(block, deltaOf(block), events);
  block.waiting = '';
  if (block.kind === 'thinking' && block.signature !== '') {
    pushDelta(block, { type: 'signature_delta', signature: block.signature }, events);
    block.signature = '';
  }
}

function startBlock(state: MessagesState, block: Block, events: MessagesEvent[]): void {
  const index = state.nextIndex++;
  block.index = index;
  events.push({ type: 'content_block_start', index, content_block: emptyBlock(block, state.labels) });
  if (index === 0) events.push({ type: 'ping' });
}

function emptyBlock(block: Block, labels: AnswerLabels): AnswerBlock {
  switch (block.kind) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'call':
      return {
        type: 'tool_use',
        id: toolUseId(block.id, labels, block.call),
        name: block.name ?? '',
        input: {},
      };
  }
}

function deltaOf(block: Block): BlockDelta {
  switch (block.kind) {
    case 'text':
      return { type: 'text_delta', text: block.waiting };
    case 'thinking':
      return { type: 'thinking_delta', thinking: block.waiting };
    case 'call':
      return { type: 'input_json_delta', partial_json: block.waiting };
  }
}

function pushDelta(block: Block, delta: BlockDelta, events: MessagesEvent[]): void {
  if (block.index !== undefined) events.push({ type: 'content_block_delta', index: block.index, delta });
}

function stopBlock(block: Block, events: MessagesEvent[]): void {
  if (block.index !== undefined) events.push({ type: 'content_block_stop', index: block.index });
  if (block.kind === 'call') block.closed = true;
}
