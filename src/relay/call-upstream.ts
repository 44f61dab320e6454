import { UpstreamFailure, type MessagesAnswer, type Upstream } from '../upstream/port.ts';
import type { ChatChunk, ChatCompletion, ChatRequest, ChatUsage, FinishReason } from '../wire/openai/chat.ts';
import type { ChatEncoder } from '../wire/openai/chat-stream.ts';
import type { OneAttempt } from './attempts.ts';
import type { ChatCall } from './call.ts';
import type { DataEvent, EventSource, StreamListener } from './stream/event-source.ts';
import { abandon, letFinish } from './stream/event-stream.ts';
import { open, type Opened } from './stream/started-answer.ts';

/** Asks one backend for a chat: in the client's own dialect where the backend speaks it, else in the canonical form. */
export async function ask(
  call: ChatCall,
  request: ChatRequest,
  upstream: Upstream,
  attempt: OneAttempt,
): Promise<Opened> {
  const { requestId, own } = call;
  if (!own || !upstream.messages) {
    const answer = await upstream.chat({ ...attempt, request, requestId });
    return await open(answer, { signal: attempt.signal, client: call.signal });
  }
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? 0;
  return await openOwn(await upstream.messages({ ...attempt, ...own, maxTokens, requestId }));
}

/** An answer that passes untouched: the client gets the backend's bytes, the meter gets what was read in them. */
async function openOwn(answer: MessagesAnswer): Promise<Opened> {
  if (answer.kind === 'whole') {
    return {
      kind: 'whole',
      text: new TextDecoder().decode(answer.body),
      completion: completionOf(answer),
      untouched: true,
    };
  }
  return { kind: 'stream', events: await UntouchedStream.open(answer), encoder: untouchedEncoder };
}

/** Raw text goes out as it came; only an end that the backend did not manage itself needs words of ours. */
function untouchedEncoder(otherwise: ChatEncoder): ChatEncoder {
  return { chunk: (data) => data, error: (fault) => otherwise.error(fault), done: () => '' };
}

class UntouchedStream implements EventSource {
  readonly #answer: MessagesAnswer & { kind: 'stream' };
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #first: DataEvent[] | undefined;
  #ended = false;
  bytesRead = 0;

  private constructor(answer: MessagesAnswer & { kind: 'stream' }) {
    this.#answer = answer;
    this.#reader = answer.body.getReader();
  }

  static async open(answer: MessagesAnswer & { kind: 'stream' }): Promise<UntouchedStream> {
    const stream = new UntouchedStream(answer);
    stream.#first = await stream.#read();
    if (!stream.#first) throw new UpstreamFailure('protocol', 'the stream ended before it began');
    return stream;
  }

  next(listener: StreamListener): void {
    const first = this.#first;
    this.#first = undefined;
    if (first) hand(first, listener);
    else
      this.#read().then(
        (events) => hand(events, listener),
        (cause: unknown) => listener.onFailure(cause),
      );
  }

  release(): void {
    letFinish(this.#reader);
  }

  cancel(): void {
    abandon(this.#reader);
  }

  takeArrived(): readonly DataEvent[] {
    const first = this.#first ?? [];
    this.#first = undefined;
    return first;
  }

  async #read(): Promise<DataEvent[] | undefined> {
    if (this.#ended) return undefined;
    const { done, value } = await this.#reader.read();
    if (done) return undefined;
    this.bytesRead += value.byteLength;
    const data = this.#decoder.decode(value, { stream: true });
    const { ended, failed, ...reading } = this.#answer.reading();
    this.#ended = ended;
    // The error event itself is the backend's own, so the client is told in ours, as it would be in any dialect.
    if (failed) return [{ data: '', event: { kind: 'error', message: 'error in the stream' } }];
    const { text, usage, stopReason, isUsageFinal } = reading;
    const chunk = chunkOf({ text, usage: isUsageFinal ? usage : undefined, stopReason });
    const written: DataEvent = { data, event: { kind: 'chunk', chunk } };
    // The order tells the meter which of the two is older.
    return isUsageFinal || !usage ? [written] : [usageEvent(usage), written];
  }
}

function usageEvent(usage: ChatUsage): DataEvent {
  const chunk = { ...NAMELESS, object: 'chat.completion.chunk' as const, choices: [], usage };
  return { data: '', event: { kind: 'chunk', chunk } };
}

function hand(events: DataEvent[] | undefined, listener: StreamListener): void {
  if (!events) return listener.onEnd();
  listener.onEvents(events);
  listener.onPause();
}

type Reading = Pick<ReturnType<MessagesAnswer['reading']>, 'text' | 'usage' | 'stopReason'>;

function chunkOf({ text, usage, stopReason }: Reading): ChatChunk {
  return {
    ...NAMELESS,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content: text }, finish_reason: finishOf(stopReason) }],
    usage,
  };
}

function completionOf(answer: MessagesAnswer): ChatCompletion {
  const { text, usage, stopReason } = answer.reading();
  const message = { role: 'assistant', content: text } as const;
  return {
    ...NAMELESS,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finishOf(stopReason) }],
    usage,
  };
}

/** For the meter only, which looks at no names. */
const NAMELESS = { id: '', created: 0, model: '' };

function finishOf(stopReason: string | undefined): FinishReason | null {
  if (stopReason === undefined) return null;
  return stopReason === 'max_tokens' ? 'length' : stopReason === 'tool_use' ? 'tool_calls' : 'stop';
}
