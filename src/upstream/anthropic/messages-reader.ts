import type { JSONObject } from '@ai-sdk/provider';
import type { MessagesReading } from '../port.ts';
import { anthropicUsage } from '../ai-sdk/anthropic-usage.ts';
import { isObject, parseObject } from '../ai-sdk/json.ts';

/** What the events of a Messages stream have reported so far. */
export interface MessagesReaderState {
  /** Content has arrived; a failure before that can still be retried at another backend. */
  readonly began: boolean;
  readonly ended: boolean;
  readonly failed: boolean;
  readonly error: { readonly status: number; readonly message: string };
  /** From `message_start`, merged with the later `message_delta`. */
  readonly usage: JSONObject;
  /** The output count of `message_start` is not final; only that of `message_delta` is, if no text follows it. */
  readonly isUsageFinal: boolean;
  readonly stopReason: string | undefined;
  readonly text: string;
}

export const START: MessagesReaderState = {
  began: false,
  ended: false,
  failed: false,
  error: { status: 500, message: '' },
  usage: {},
  isUsageFinal: false,
  stopReason: undefined,
  text: '',
};

/** One event, by one small function for its type; unknown types are only passed on. */
export function readMessagesEvent(state: MessagesReaderState, data: string): MessagesReaderState {
  const event = parseObject(data);
  const step = event && typeof event.type === 'string' ? STEPS.get(event.type) : undefined;
  return event && step ? step(state, event) : state;
}

/** A whole message. */
export function readMessage(message: JSONObject): MessagesReaderState {
  const texts = Array.isArray(message.content) ? message.content.map(blockText) : [];
  return {
    ...START,
    began: true,
    ended: true,
    isUsageFinal: true,
    usage: isObject(message.usage) ? message.usage : {},
    stopReason: stringOf(message.stop_reason),
    text: texts.join(''),
  };
}

export function readingOf(state: MessagesReaderState): MessagesReading {
  const { text, stopReason, ended, failed, isUsageFinal } = state;
  return { usage: anthropicUsage(state.usage), isUsageFinal, text, stopReason, ended, failed };
}

type Step = (state: MessagesReaderState, event: JSONObject) => MessagesReaderState;

const STEPS: ReadonlyMap<string, Step> = new Map<string, Step>([
  ['message_start', messageStart],
  ['content_block_start', contentBlockStart],
  ['content_block_delta', contentBlockDelta],
  ['message_delta', messageDelta],
  ['message_stop', (state) => ({ ...state, ended: true })],
  ['error', failure],
]);

function messageStart(state: MessagesReaderState, { message }: JSONObject): MessagesReaderState {
  const usage = isObject(message) && isObject(message.usage) ? message.usage : {};
  return { ...state, usage: withoutNulls(usage) };
}

function contentBlockStart(state: MessagesReaderState, { content_block }: JSONObject): MessagesReaderState {
  const name = isObject(content_block) ? stringOf(content_block.name) : undefined;
  return { ...state, began: true, isUsageFinal: false, text: state.text + (name ?? '') };
}

const DELTA_TEXTS = ['text', 'thinking', 'partial_json'];

function contentBlockDelta(state: MessagesReaderState, { delta }: JSONObject): MessagesReaderState {
  if (!isObject(delta)) return state;
  const text = DELTA_TEXTS.map((key) => stringOf(delta[key]) ?? '').join('');
  return text === '' ? state : { ...state, isUsageFinal: false, text: state.text + text };
}

function messageDelta(state: MessagesReaderState, { delta, usage }: JSONObject): MessagesReaderState {
  const later = isObject(usage) ? withoutNulls(usage) : {};
  const stopReason = (isObject(delta) ? stringOf(delta.stop_reason) : undefined) ?? state.stopReason;
  return { ...state, stopReason, isUsageFinal: isObject(usage), usage: { ...state.usage, ...later } };
}

/** The statuses of the same errors outside of a stream. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  overloaded_error: 529,
};

function failure(state: MessagesReaderState, { error }: JSONObject): MessagesReaderState {
  const type = isObject(error) ? (stringOf(error.type) ?? '') : '';
  const message = isObject(error) ? (stringOf(error.message) ?? type) : 'error';
  return { ...state, failed: true, error: { status: STATUSES[type] ?? 500, message } };
}

function blockText(block: unknown): string {
  if (!isObject(block)) return '';
  const input = isObject(block.input) ? JSON.stringify(block.input) : '';
  return (
    (stringOf(block.text) ?? '') + (stringOf(block.thinking) ?? '') + (stringOf(block.name) ?? '') + input
  );
}

function withoutNulls(usage: JSONObject): JSONObject {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
