import { UpstreamFailure } from '../../upstream/port.ts';
import type { ChatChunk } from '../../wire/openai/chat.ts';
import type { DataEvent, EventSource, OpeningSignals } from './event-source.ts';

/** After a first event without content, how long to look whether an error follows before the client gets it. */
const SECOND_LOOK_MS = 200;

/**
 * The first events of a stream, read before the client gets any of them. Some backends answer 200 and say in the stream
 * that they cannot serve: that is a failure like any other as long as the client has seen nothing.
 */
export class FirstEvents {
  #events: DataEvent[] | undefined;
  #pending: Promise<DataEvent[] | undefined> | undefined;

  /** `read` gives the next whole events, at least one; `undefined` at the end. Resolves once one of them is content. */
  async look(read: () => Promise<DataEvent[] | undefined>): Promise<void> {
    const first = await read();
    if (!first) throw new UpstreamFailure('protocol', 'the stream ended before it began');
    this.#keep(first);
    if (hasContent(first)) return;
    this.#pending = read();
    // Observed here as well, so that a failure while nobody waits is not an unhandled one.
    this.#pending.catch(() => undefined);
    const second = await withinMs(SECOND_LOOK_MS, this.#pending);
    if (second === 'later') return;
    this.#pending = undefined;
    if (!second) throw new UpstreamFailure('protocol', 'the stream ended without an answer');
    this.#keep(second);
  }

  /** What was read, or else what is still being read: each once. */
  take(): DataEvent[] | Promise<DataEvent[] | undefined> | undefined {
    const [events, pending] = [this.#events, this.#pending];
    this.#events = undefined;
    if (events) return events;
    this.#pending = undefined;
    return pending;
  }

  takeArrived(): DataEvent[] {
    const events = this.#events ?? [];
    this.#events = undefined;
    return events;
  }

  #keep(events: DataEvent[]): void {
    for (const { event } of events) {
      if (event.kind === 'error')
        throw new UpstreamFailure('server', `error in the stream: ${event.message}`);
      if (event.kind === 'garbage')
        throw new UpstreamFailure('protocol', 'an event of the stream is not a chat chunk');
      if (event.kind === 'chunk' && isContent(event.chunk)) break;
    }
    this.#events = [...(this.#events ?? []), ...events];
  }
}

/**
 * Resolves with the stream once its first events were looked at. When the client leaves meanwhile, it resolves with what
 * came so far: the backend has accepted the request.
 */
export async function opened<Stream extends EventSource>(
  stream: Stream,
  look: () => Promise<void>,
  { signal, client }: OpeningSignals,
): Promise<Stream> {
  const left = Promise.withResolvers<void>();
  const onAbort = (): void => stream.cancel();
  const onLeft = (): void => left.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  client.addEventListener('abort', onLeft, { once: true });
  if (client.aborted) onLeft();
  try {
    await Promise.race([look(), left.promise]);
    if (signal.aborted) throw new UpstreamFailure('connect', 'aborted');
    return stream;
  } catch (thrown) {
    stream.cancel();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
    client.removeEventListener('abort', onLeft);
  }
}

function hasContent(events: DataEvent[]): boolean {
  return events.some(({ event }) => event.kind !== 'chunk' || isContent(event.chunk));
}

function isContent(chunk: ChatChunk): boolean {
  return (chunk.choices ?? []).some(
    ({ delta, finish_reason }) => finish_reason != null || Object.entries(delta ?? {}).some(saysSomething),
  );
}

function saysSomething([key, value]: [string, unknown]): boolean {
  return key !== 'role' && value != null && value !== '';
}

/** The timer does not outlive the answer: there is one for each stream. */
async function withinMs<T>(ms: number, answer: Promise<T>): Promise<T | 'later'> {
  const late = Promise.withResolvers<'later'>();
  const timer = setTimeout(() => late.resolve('later'), ms);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
