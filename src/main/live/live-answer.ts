import { createParser } from 'eventsource-parser';
import type { ChatAnswer } from '../../upstream/port.ts';
import { UpstreamFailure } from '../../upstream/port.ts';
import { readCompletion, readStreamEvent, type StreamEvent } from '../../wire/openai/answer.ts';
import type { ChatChunk, ChatCompletion, ToolCall } from '../../wire/openai/chat.ts';

/** The result of a call, in whichever form the backend answers. */
export interface LiveAnswer {
  readonly text: string;
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[];
  /** As the provider reported it. */
  readonly usage: unknown;
  readonly serviceTier: unknown;
  readonly finishReason: string | undefined;
  /** Events of a stream; 0: it came whole. */
  readonly events: number;
}

const MAX_TEXT = 1_000_000;

export async function readLiveAnswer(answer: ChatAnswer): Promise<LiveAnswer> {
  switch (answer.kind) {
    case 'whole': {
      const completion = readCompletion(answer.json.value);
      if (!completion) throw new UpstreamFailure('protocol', 'the answer is no chat completion');
      return wholeAnswer(completion);
    }
    case 'completion':
      return wholeAnswer(answer.completion);
    case 'stream':
      return await readEvents(streamEvents(answer.body));
    case 'events':
      return await readEvents(answer.events);
    default:
      return answer satisfies never;
  }
}

function wholeAnswer({ choices, usage, service_tier: serviceTier }: ChatCompletion): LiveAnswer {
  const [choice] = choices;
  const calls: readonly ToolCall[] = choice?.message.tool_calls ?? [];
  return {
    text: typeof choice?.message.content === 'string' ? choice.message.content : '',
    toolCalls: calls.map((call) => ({ name: call.function.name, arguments: call.function.arguments })),
    usage,
    serviceTier,
    finishReason: choice?.finish_reason ?? undefined,
    events: 0,
  };
}

async function readEvents(events: AsyncIterable<StreamEvent>): Promise<LiveAnswer> {
  const reading = new StreamReading();
  let hasEnded = false;
  for await (const event of events) {
    if (event.kind === 'error')
      throw new UpstreamFailure('server', `an error in the stream: ${event.message}`);
    if (event.kind === 'done') hasEnded = true;
    if (event.kind === 'chunk') reading.add(event.chunk);
  }
  if (!hasEnded && reading.answer().finishReason === undefined)
    throw new UpstreamFailure('protocol', 'the stream ended without its last event');
  return reading.answer();
}

class StreamReading {
  #text = '';
  readonly #calls = new Map<number, { name: string; arguments: string }>();
  #usage: unknown;
  #serviceTier: unknown;
  #finishReason: string | undefined;
  #events = 0;

  add({ choices, usage, service_tier: tier }: ChatChunk): void {
    this.#events++;
    this.#usage = usage ?? this.#usage;
    this.#serviceTier = tier ?? this.#serviceTier;
    for (const { delta, finish_reason: reason } of choices ?? []) {
      this.#finishReason = reason ?? this.#finishReason;
      if (this.#text.length < MAX_TEXT) this.#text += delta?.content ?? '';
      for (const part of delta?.tool_calls ?? []) {
        const call = this.#calls.get(part.index) ?? { name: '', arguments: '' };
        call.name += part.function?.name ?? '';
        if (call.arguments.length < MAX_TEXT) call.arguments += part.function?.arguments ?? '';
        this.#calls.set(part.index, call);
      }
    }
  }

  answer(): LiveAnswer {
    return {
      text: this.#text,
      toolCalls: [...this.#calls.values()],
      usage: this.#usage,
      serviceTier: this.#serviceTier,
      finishReason: this.#finishReason,
      events: this.#events,
    };
  }
}

async function* streamEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const waiting: StreamEvent[] = [];
  const parser = createParser({ onEvent: ({ data }) => waiting.push(readStreamEvent(data)) });
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    yield* waiting.splice(0);
  }
}
