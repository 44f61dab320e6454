export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

const MAX_PENDING = 4_000_000;

/** Reads server-sent events from a response. Chunks may end anywhere: in a line, in a character. */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      pending += value;
      if (pending.length > MAX_PENDING) throw new Error('an event of the stream is too long');
      const blocks = pending.split(/\r?\n\r?\n/);
      pending = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel();
  }
}

function parse(block: string): ServerEvent | undefined {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('event:')) event = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
  return data.length > 0 ? { event, data: data.join('\n') } : undefined;
}
