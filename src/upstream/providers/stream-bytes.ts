import { Fault } from '../../std/fault.ts';
import type { ChatChunk, ChatDelta, ChatUsage, FinishReason } from '../../wire/chat.ts';
import { faultBody } from '../../wire/faults.ts';
import { encodeEvent } from '../../wire/sse.ts';
import { UpstreamFailure } from '../port.ts';
import { asError } from './failure.ts';
import { type Part, reduce, STREAM_START, type StreamEnd, type StreamState } from './stream.ts';

/**
 * The parts of an AI SDK stream as canonical bytes. Waits for the first part that says something: a failure before it
 * is thrown, so that the relay can try elsewhere; one after it becomes an error event, and the stream ends there.
 */
export async function streamBytes(
  parts: ReadableStream<Part>,
  answer: StreamAnswer,
): Promise<ReadableStream<Uint8Array>> {
  const pump = new Pump(parts.getReader(), answer);
  const first = await pump.next();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (first !== '') controller.enqueue(ENCODER.encode(first));
    },
    async pull(controller) {
      try {
        const text = pump.over ? '' : await pump.next();
        if (text !== '') controller.enqueue(ENCODER.encode(text));
        if (pump.over) controller.close();
      } catch (error) {
        if (answer.signal.aborted) return controller.error(answer.signal.reason);
        controller.enqueue(ENCODER.encode(errorEvent(answer.failure(error))));
        controller.close();
      }
    },
    cancel: () => pump.stop(),
  });
}

export interface StreamAnswer {
  readonly id: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly signal: AbortSignal;
  usage(raw: unknown): ChatUsage | undefined;
  failure(thrown: unknown): UpstreamFailure;
}

const ENCODER = new TextEncoder();
const READ_OUT_MS = 1_000;

class Pump {
  readonly #reader: ReadableStreamDefaultReader<Part>;
  readonly #answer: StreamAnswer;
  #state: StreamState = STREAM_START;
  over = false;

  constructor(reader: ReadableStreamDefaultReader<Part>, answer: StreamAnswer) {
    this.#reader = reader;
    this.#answer = answer;
  }

  /** Text for the client, as soon as there is some. Throws what ended the stream when it was not a finish. */
  async next(): Promise<string> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) throw new UpstreamFailure('protocol', 'the stream ended without a finish');
        const { state, deltas } = reduce(this.#state, value);
        this.#state = state;
        if (state.end) return this.#last(state.end);
        if (deltas.length > 0) return deltas.map((delta) => chunkEvent(this.#answer, delta, null)).join('');
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.over = true;
    // A stream that already failed cannot be cancelled, and need not be.
    await this.#reader.cancel().catch(() => undefined);
  }

  /** The last bytes are read, so that the connection can serve again; a backend that does not close it loses it. */
  #readOut(): void {
    const timer = setTimeout(() => void this.stop(), READ_OUT_MS);
    const rest = async (): Promise<void> => {
      while (!(await this.#reader.read()).done);
    };
    // The answer is complete: how the connection ends after it concerns nobody.
    void rest()
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  }

  #last(end: StreamEnd): string {
    if (end.kind === 'error') throw asError(end.error);
    this.over = true;
    this.#readOut();
    const role: ChatDelta = this.#state.started ? {} : { role: 'assistant', content: '' };
    const usage = this.#answer.usage(end.usage);
    const counted = usage ? usageEvent(this.#answer, usage) : '';
    return `${chunkEvent(this.#answer, role, end.reason)}${counted}data: [DONE]\n\n`;
  }
}

function chunkEvent(answer: StreamAnswer, delta: ChatDelta, finish_reason: FinishReason | null): string {
  return event(answer, { choices: [{ index: 0, delta, finish_reason }] });
}

function usageEvent(answer: StreamAnswer, usage: ChatUsage): string {
  return event(answer, { choices: [], usage });
}

function event(answer: StreamAnswer, rest: Pick<ChatChunk, 'choices' | 'usage'>): string {
  const { id, created, model } = answer;
  const chunk: ChatChunk = { id, object: 'chat.completion.chunk', created, model, ...rest };
  return encodeEvent(JSON.stringify(chunk));
}

function errorEvent(failure: UpstreamFailure): string {
  const late = failure.kind === 'timeout';
  const message = late ? 'The backend took too long.' : 'The backend failed while it was answering.';
  return encodeEvent(
    JSON.stringify(faultBody(new Fault(late ? 'upstream_timeout' : 'upstream_error', message))),
  );
}
