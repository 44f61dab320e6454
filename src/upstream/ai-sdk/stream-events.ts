import type { StreamEvent } from '../../wire/openai/answer.ts';
import type { ChatChunk, ChatDelta, ChatUsage, FinishReason } from '../../wire/openai/chat.ts';
import { UpstreamFailure } from '../port.ts';
import { asError } from './failure.ts';
import { type Part, reduce, STREAM_START, type StreamFinish, type StreamState } from './stream.ts';

/**
 * The parts of an AI SDK stream as canonical events. Waits for the first part with content: a failure before it is
 * thrown, so that the relay can try another backend; a later one becomes an error event that ends the stream.
 */
export async function streamEvents(
  parts: ReadableStream<Part>,
  answer: StreamEnvelope,
): Promise<ReadableStream<StreamEvent>> {
  const pump = new PartReader(parts.getReader(), answer);
  const first = await pump.next();
  return new ReadableStream<StreamEvent>({
    start(controller) {
      for (const event of first) controller.enqueue(event);
    },
    async pull(controller) {
      try {
        if (!pump.over) for (const event of await pump.next()) controller.enqueue(event);
        if (pump.over) controller.close();
      } catch (error) {
        if (answer.signal.aborted) return controller.error(answer.signal.reason);
        controller.enqueue({ kind: 'error', message: answer.failure(error).message });
        controller.close();
      }
    },
    cancel: () => pump.stop(),
  });
}

interface StreamEnvelope {
  readonly id: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly signal: AbortSignal;
  usage(raw: unknown): ChatUsage | undefined;
  /** What an event of the backend reports before the end; absent where only the last one reports. */
  readonly earlyUsage?: ((event: unknown) => ChatUsage | undefined) | undefined;
  failure(thrown: unknown): UpstreamFailure;
}

const DRAIN_TIMEOUT_MS = 1_000;

class PartReader {
  readonly #reader: ReadableStreamDefaultReader<Part>;
  readonly #answer: StreamEnvelope;
  #state: StreamState = STREAM_START;
  /** Goes out with the first content: until then the backend may still fail, and another be asked. */
  #earlyUsage: ChatUsage | undefined;
  over = false;

  constructor(reader: ReadableStreamDefaultReader<Part>, answer: StreamEnvelope) {
    this.#reader = reader;
    this.#answer = answer;
  }

  /** The next events for the client. Throws the reason if the stream ended without a finish. */
  async next(): Promise<readonly StreamEvent[]> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) throw new UpstreamFailure('protocol', 'the stream ended without a finish');
        if (value.type === 'raw')
          this.#earlyUsage = this.#answer.earlyUsage?.(value.rawValue) ?? this.#earlyUsage;
        const { state, deltas } = reduce(this.#state, value);
        this.#state = state;
        if (state.end) return this.#last(state.end);
        if (deltas.length > 0)
          return [...this.#takeEarlyUsage(), ...deltas.map((delta) => deltaEvent(this.#answer, delta, null))];
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  #takeEarlyUsage(): readonly StreamEvent[] {
    const usage = this.#earlyUsage;
    this.#earlyUsage = undefined;
    return usage ? [{ kind: 'early_usage', usage }] : [];
  }

  async stop(): Promise<void> {
    this.over = true;
    // A stream that has already failed cannot be cancelled.
    await this.#reader.cancel().catch(() => undefined);
  }

  /**
   * Reads the last bytes, so that the connection can be reused; if the backend does not close in time, it is cancelled.
   */
  #drain(): void {
    const timer = setTimeout(() => void this.stop(), DRAIN_TIMEOUT_MS);
    const rest = async (): Promise<void> => {
      while (!(await this.#reader.read()).done);
    };
    // The answer is complete, so how the connection ends does not matter.
    void rest()
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  }

  #last(end: StreamFinish): readonly StreamEvent[] {
    if (end.kind === 'error') throw asError(end.error);
    this.over = true;
    this.#drain();
    const role: ChatDelta = this.#state.started ? {} : { role: 'assistant', content: '' };
    const usage = this.#answer.usage(end.usage);
    const counted = usage ? [chunkEvent(this.#answer, { choices: [], usage })] : [];
    return [deltaEvent(this.#answer, role, end.reason), ...counted, { kind: 'done' }];
  }
}

function deltaEvent(
  answer: StreamEnvelope,
  delta: ChatDelta,
  finish_reason: FinishReason | null,
): StreamEvent {
  return chunkEvent(answer, { choices: [{ index: 0, delta, finish_reason }] });
}

function chunkEvent(answer: StreamEnvelope, rest: Pick<ChatChunk, 'choices' | 'usage'>): StreamEvent {
  const { id, created, model } = answer;
  return { kind: 'chunk', chunk: { id, object: 'chat.completion.chunk', created, model, ...rest } };
}
