import { UpstreamFailure, type NativeAnswer } from '../../upstream/port.ts';
import type { ChatChunk, ChatCompletion, ChatUsage, FinishReason } from '../../wire/openai/chat.ts';
import { withModel, type ChatEncoder } from '../../wire/openai/answer.ts';
import type { DataEvent, EventSource, StartedAnswer, StreamListener } from './event-source.ts';
import { cancelReader, drainToEnd } from './event-stream.ts';

/**
 * An answer that passes unchanged, but for the name of the model, which is the one that the client asked for: the client
 * gets the backend's bytes, the meter gets what was read from them.
 */
export async function readNativeAnswer(answer: NativeAnswer, model: string): Promise<StartedAnswer> {
  if (answer.kind === 'whole') {
    return {
      kind: 'whole',
      text: withModel(answer.json, model),
      completion: completionOf(answer),
      passThrough: true,
    };
  }
  return { kind: 'stream', events: await PassThroughStream.open(answer, model), encoder: passThroughEncoder };
}

/** Text goes out as it came; only an error that we report ourselves is encoded. */
function passThroughEncoder(otherwise: ChatEncoder): ChatEncoder {
  return { chunk: (data) => data, error: (fault) => otherwise.error(fault), done: () => '' };
}

class PassThroughStream implements EventSource {
  readonly #answer: NativeAnswer & { kind: 'stream' };
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #first: DataEvent[] | undefined;
  #ended = false;
  #toldUsage = '';
  readonly #model: string;
  /** Text before the end of the first event, which names the model; `undefined` once that has passed. */
  #beginning: string | undefined = '';
  bytesRead = 0;

  private constructor(answer: NativeAnswer & { kind: 'stream' }, model: string) {
    this.#answer = answer;
    this.#model = model;
    this.#reader = answer.body.getReader();
  }

  static async open(answer: NativeAnswer & { kind: 'stream' }, model: string): Promise<PassThroughStream> {
    const stream = new PassThroughStream(answer, model);
    stream.#first = await stream.#read();
    if (!stream.#first) throw new UpstreamFailure('protocol', 'the stream ended before it began');
    return stream;
  }

  next(listener: StreamListener): void {
    const first = this.#first;
    this.#first = undefined;
    if (first) emit(first, listener);
    else
      this.#read().then(
        (events) => emit(events, listener),
        (cause: unknown) => listener.onFailure(cause),
      );
  }

  release(): void {
    drainToEnd(this.#reader);
  }

  cancel(): void {
    cancelReader(this.#reader);
  }

  async #read(): Promise<DataEvent[] | undefined> {
    if (this.#ended) return this.#rest();
    const { done, value } = await this.#reader.read();
    if (done) return this.#rest();
    this.bytesRead += value.byteLength;
    const data = this.#named(this.#decoder.decode(value, { stream: true }));
    const { ended, failed, ...reading } = this.#answer.reading();
    this.#ended = ended;
    // The client gets our own error event instead of the backend's, as in any dialect.
    if (failed) return [{ data: '', event: { kind: 'error', message: 'error in the stream' } }];
    const { text, thought, usage, stopReason, isUsageFinal } = reading;
    const chunk = chunkOf({ text, thought, usage: isUsageFinal ? usage : undefined, stopReason });
    const written: DataEvent = { data, event: { kind: 'chunk', chunk } };
    if (isUsageFinal || !usage || !this.#isNews(usage)) return [written];
    // The order tells the meter which of the two is older.
    return [{ data: '', event: { kind: 'early_usage', usage } }, written];
  }

  /** The beginning of an event whose end never came. */
  #rest(): DataEvent[] | undefined {
    const data = this.#beginning ?? '';
    this.#beginning = undefined;
    if (data === '') return undefined;
    return [
      {
        data,
        event: {
          kind: 'chunk',
          chunk: chunkOf({ text: '', thought: '', usage: undefined, stopReason: undefined }),
        },
      },
    ];
  }

  #named(text: string): string {
    if (this.#beginning === undefined) return text;
    const all = this.#beginning + text;
    const end = all.search(/\r?\n\r?\n/);
    const isWhole = end !== -1 || all.length > MOST_BEGINNING || !EVENT_BEGINNING.test(all);
    this.#beginning = isWhole ? undefined : all;
    if (!isWhole) return '';
    const event = end === -1 ? '' : all.slice(0, end);
    return event.includes('"message_start"') ? withModelOfStart(event, this.#model) + all.slice(end) : all;
  }

  /** If it were reported again, a count from before the text would look like one from after it. */
  #isNews(usage: ChatUsage): boolean {
    const text = JSON.stringify(usage);
    const isNews = text !== this.#toldUsage;
    this.#toldUsage = text;
    return isNews;
  }
}

/** Matches the beginning of a line `event:` or `data:`, however little of it has arrived. */
const EVENT_BEGINNING = /^(?:$|e$|d$|ev|da)/;
/** The first event has a few hundred characters. */
const MOST_BEGINNING = 65_536;

/** Nothing before the name can look like it: quotes within strings are escaped, and the content is still empty. */
function withModelOfStart(event: string, model: string): string {
  return event.replace(/("model"\s*:\s*)"(?:[^"\\]|\\.)*"/, (_, key: string) => key + JSON.stringify(model));
}

function emit(events: DataEvent[] | undefined, listener: StreamListener): void {
  if (!events) return listener.onEnd();
  listener.onEvents(events);
  listener.onPause();
}

type Reading = Pick<ReturnType<NativeAnswer['reading']>, 'text' | 'thought' | 'usage' | 'stopReason'>;

function chunkOf({ text, thought, usage, stopReason }: Reading): ChatChunk {
  return {
    ...NO_IDENTITY,
    object: 'chat.completion.chunk',
    choices: [
      { index: 0, delta: { content: text, reasoning_content: thought }, finish_reason: finishOf(stopReason) },
    ],
    usage,
  };
}

function completionOf(answer: NativeAnswer): ChatCompletion {
  const { text, thought, usage, stopReason } = answer.reading();
  const message = { role: 'assistant', content: text, reasoning_content: thought } as const;
  return {
    ...NO_IDENTITY,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finishOf(stopReason) }],
    usage,
  };
}

/** Only the meter reads these chunks, and it ignores these fields. */
const NO_IDENTITY = { id: '', created: 0, model: '' };

function finishOf(stopReason: string | undefined): FinishReason | null {
  if (stopReason === undefined) return null;
  return stopReason === 'max_tokens' ? 'length' : stopReason === 'tool_use' ? 'tool_calls' : 'stop';
}
