import { APICallError } from '@ai-sdk/provider';
import { encodeEvent, SseReader } from '../../std/sse.ts';
import { type AnthropicNative, type NativeAnswer, type MessagesCall, UpstreamFailure } from '../port.ts';
import { asFailure } from '../ai-sdk/failure.ts';
import { isObject, parseObject } from '../ai-sdk/json.ts';
import {
  type MessagesReaderState,
  readMessage,
  readMessagesEvent,
  readingOf,
  START,
} from './messages-reader.ts';

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
        : wholeAnswer(await response.bytes());
    },
    async countTokens(call) {
      return (await post('/messages/count_tokens', call)).bytes();
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
  const responseBody = await response.text();
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

function wholeAnswer(body: Uint8Array): NativeAnswer {
  const message = parseObject(new TextDecoder().decode(body));
  if (!message) throw new UpstreamFailure('protocol', 'the answer is not JSON');
  const state = readMessage(message);
  return { kind: 'whole', body, reading: () => readingOf(state) };
}

/** A failure before the first event with content is thrown; a later one becomes an error event. */
async function streamAnswer(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<NativeAnswer> {
  const watch = new MessagesObserver(body.getReader());
  const first = await watch.untilFirstEvent();
  return {
    kind: 'stream',
    body: new ReadableStream<Uint8Array>({
      start(controller) {
        // In one piece: what was read from it may be the whole answer, and no further piece is asked for then.
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
    this.#state = { ...this.#state, text: '' };
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
