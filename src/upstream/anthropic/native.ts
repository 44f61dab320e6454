import { APICallError, type JSONObject } from '@ai-sdk/provider';
import { readBytes, readJsonAnswer } from '../../std/json-answer.ts';
import { parseJsonAtOnce, type JsonText } from '../../std/json-parse.ts';
import { EVENT_LIMITS } from '../../std/json-scan.ts';
import { encodeEvent, SseReader } from '../../std/sse.ts';
import { asFailure } from '../ai-sdk/failure.ts';
import { isObject, parseObject } from '../ai-sdk/json.ts';
import { anthropicUsage } from '../ai-sdk/usage.ts';
import { ANSWER, ERROR_ANSWER, TOKEN_COUNT } from '../answer-rules.ts';
import {
  UpstreamFailure,
  type AnthropicNative,
  type MessagesCall,
  type MessagesReading,
  type NativeAnswer,
} from '../port.ts';

/** Forwards Messages requests unchanged and observes the answers; `fetch` enforces the cap and the size limits. */
export function anthropicNative(
  address: string,
  headers: Record<string, string>,
  fetch: typeof globalThis.fetch,
): AnthropicNative {
  const post = async (path: string, call: MessagesCall): Promise<Response> => {
    const response = await fetch(`${address}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers, ...clientHeaders(call) },
      body: JSON.stringify({ ...call.body, model: call.model }),
    });
    if (!response.ok) throw await refusal(response);
    return response;
  };
  return {
    async messages(call) {
      const response = await post('/messages', call);
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      return isStream && response.body
        ? streamAnswer(response.body, call.signal)
        : wholeAnswer(await readJsonAnswer(response, ANSWER));
    },
    async countTokens(call) {
      return await readJsonAnswer(await post('/messages/count_tokens', call), TOKEN_COUNT);
    },
  };
}

function clientHeaders({ version, beta }: MessagesCall): Record<string, string> {
  return {
    ...(version !== undefined && { 'anthropic-version': version }),
    ...(beta !== undefined && { 'anthropic-beta': beta }),
  };
}

async function refusal(response: Response): Promise<Error> {
  const responseBody = new TextDecoder().decode(await readBytes(response, ERROR_ANSWER));
  const error = parseObject(responseBody)?.error;
  return new APICallError({
    message:
      isObject(error) && typeof error.message === 'string' ? error.message : `status ${response.status}`,
    url: '',
    requestBodyValues: undefined,
    statusCode: response.status,
    responseHeaders: Object.fromEntries(response.headers),
    responseBody,
  });
}

function wholeAnswer(json: JsonText): NativeAnswer {
  if (!isObject(json.value)) throw new UpstreamFailure('protocol', 'the answer is no message');
  const state = readMessage(json.value);
  return { kind: 'whole', json, reading: () => readingOf(state) };
}

/** A failure before the first event with content is thrown; a later one becomes an error event. */
async function streamAnswer(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<NativeAnswer> {
  const watch = new MessagesObserver(body.getReader());
  const first = await watch.untilFirstEvent();
  return {
    kind: 'stream',
    body: new ReadableStream<Uint8Array>({
      start(controller) {
        // Sent in one piece: it may be the whole answer, and then no further piece is asked for.
        controller.enqueue(Buffer.concat(first));
      },
      async pull(controller) {
        try {
          const chunk = await watch.next();
          if (chunk) return controller.enqueue(chunk);
          if (!watch.settled) throw new UpstreamFailure('protocol', 'the stream ended without message_stop');
          controller.close();
        } catch (error) {
          if (signal.aborted) return controller.error(signal.reason);
          controller.enqueue(watch.fail(asFailure(error, [])));
          controller.close();
        }
      },
      cancel: () => watch.stop(),
    }),
    reading: () => watch.reading(),
  };
}

class MessagesObserver {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #events = new SseReader();
  #state: MessagesReaderState = START;

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.#reader = reader;
  }

  get settled(): boolean {
    return this.#state.ended || this.#state.failed;
  }

  async next(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.#reader.read();
    if (done) return undefined;
    for (const { data } of this.#events.push(value)) this.#state = readMessagesEvent(this.#state, data);
    return value;
  }

  async untilFirstEvent(): Promise<Uint8Array[]> {
    const chunks: Uint8Array[] = [];
    while (!this.#state.began && !this.settled) {
      const chunk = await this.next();
      if (!chunk) throw new UpstreamFailure('protocol', 'the stream ended before it began');
      chunks.push(chunk);
    }
    if (!this.#state.failed) return chunks;
    await this.stop();
    throw Object.assign(new Error(this.#state.error.message), { statusCode: this.#state.error.status });
  }

  reading() {
    const reading = readingOf(this.#state);
    this.#state = { ...this.#state, text: '', thought: '' };
    return reading;
  }

  fail(failure: UpstreamFailure): Uint8Array {
    this.#state = { ...this.#state, failed: true };
    void this.stop();
    const type = failure.kind === 'timeout' ? 'timeout_error' : 'api_error';
    const error = { type: 'error', error: { type, message: 'The backend failed while it was answering.' } };
    return new TextEncoder().encode(encodeEvent(JSON.stringify(error), 'error'));
  }

  async stop(): Promise<void> {
    // A body that has already failed cannot be cancelled.
    await this.#reader.cancel().catch(() => undefined);
  }
}

/** What the events of a Messages stream have reported so far. */
interface MessagesReaderState {
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
  readonly thought: string;
  /** Web searches that have begun: the report about them comes last. */
  readonly searches: number;
}

const START: MessagesReaderState = {
  began: false,
  ended: false,
  failed: false,
  error: { status: 500, message: '' },
  usage: {},
  isUsageFinal: false,
  stopReason: undefined,
  text: '',
  thought: '',
  searches: 0,
};

/** One event, by one small function for its type; unknown types are only passed on. */
function readMessagesEvent(state: MessagesReaderState, data: string): MessagesReaderState {
  const event = eventOf(data);
  const step = event && typeof event.type === 'string' ? STEPS.get(event.type) : undefined;
  return event && step ? step(state, event) : state;
}

function eventOf(data: string): JSONObject | undefined {
  try {
    const event = parseJsonAtOnce(data, EVENT_LIMITS);
    return isObject(event) ? event : undefined;
  } catch {
    // What is no JSON is only passed on.
    return undefined;
  }
}

/** A whole message. */
function readMessage(message: JSONObject): MessagesReaderState {
  const blocks: unknown[] = Array.isArray(message.content) ? message.content : [];
  const texts = blocks.map(blockText);
  return {
    ...START,
    began: true,
    ended: true,
    isUsageFinal: true,
    usage: isObject(message.usage) ? message.usage : {},
    stopReason: stringOf(message.stop_reason),
    text: texts.join(''),
    thought: blocks.map(blockThought).join(''),
  };
}

function readingOf(state: MessagesReaderState): MessagesReading {
  const { text, thought, stopReason, ended, failed, isUsageFinal } = state;
  return { usage: usageOf(state), isUsageFinal, text, thought, stopReason, ended, failed };
}

function usageOf({ usage, searches }: MessagesReaderState): MessagesReading['usage'] {
  const read = anthropicUsage(usage);
  const reported = read?.server_tool_use?.web_search_requests ?? 0;
  return read && searches > reported ? { ...read, server_tool_use: { web_search_requests: searches } } : read;
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
  const { type, name } = isObject(content_block) ? content_block : {};
  const isSearch = type === 'server_tool_use' && name === 'web_search';
  return {
    ...state,
    began: true,
    isUsageFinal: false,
    text: state.text + (stringOf(name) ?? ''),
    searches: state.searches + (isSearch ? 1 : 0),
  };
}

const DELTA_TEXTS = ['text', 'partial_json'];

function contentBlockDelta(state: MessagesReaderState, { delta }: JSONObject): MessagesReaderState {
  if (!isObject(delta)) return state;
  const text = DELTA_TEXTS.map((key) => stringOf(delta[key]) ?? '').join('');
  const thought = stringOf(delta['thinking']) ?? '';
  if (text === '' && thought === '') return state;
  return { ...state, isUsageFinal: false, text: state.text + text, thought: state.thought + thought };
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
  return (stringOf(block.text) ?? '') + (stringOf(block.name) ?? '') + input;
}

function blockThought(block: unknown): string {
  return isObject(block) ? (stringOf(block.thinking) ?? '') : '';
}

function withoutNulls(usage: JSONObject): JSONObject {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
