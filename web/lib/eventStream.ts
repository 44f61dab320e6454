import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

const MAX_PENDING = 4_000_000;

/** Reads server-sent events from a response. Chunks may end anywhere: in a line, in a character. */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  maxPending = MAX_PENDING,
): AsyncGenerator<ServerEvent> {
  // Not every browser can iterate over a stream, but all have its reader.
  const reader = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: maxPending }))
    .getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield { event: value.event ?? 'message', data: value.data };
    }
  } finally {
    await reader.cancel();
  }
}
