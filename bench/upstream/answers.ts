/** What the mock backend says: the same bytes each time, framed once. */
export interface Answers {
  readonly whole: Uint8Array;
  readonly image: Uint8Array;
  readonly streamHead: Uint8Array;
  readonly firstChunk: Uint8Array;
  readonly contentChunk: Uint8Array;
  /** Finish, usage, `[DONE]` and the end of the body. */
  readonly lastChunks: Uint8Array;
  readonly failure: Uint8Array;
  readonly lengthRequired: Uint8Array;
}

export function makeAnswers(): Answers {
  const event = (delta: object, finish: string | null): string =>
    data({ ...CHUNK, choices: [{ index: 0, delta, finish_reason: finish }] });
  const usage = data({ ...CHUNK, choices: [], usage: USAGE });
  return {
    whole: json(200, COMPLETION),
    image: json(200, IMAGE),
    streamHead: bytes(
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n',
    ),
    firstChunk: framed(event({ role: 'assistant', content: '' }, null)),
    contentChunk: framed(event({ content: ' measured' }, null)),
    lastChunks: bytes(frame(event({}, 'stop')) + frame(usage) + frame('data: [DONE]\n\n') + '0\r\n\r\n'),
    failure: json(500, {
      error: { message: 'scripted failure', type: 'server_error', code: null, param: null },
    }),
    lengthRequired: json(411, { error: { message: 'the mock backend wants a content-length' } }),
  };
}

const USAGE = { prompt_tokens: 24, completion_tokens: 101, total_tokens: 125 };

const COMPLETION = {
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench-model',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'The toll is paid once, at the gate, and the receipt says for what.',
      },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 24, completion_tokens: 16, total_tokens: 40 },
};

/** One pixel. */
const IMAGE = {
  created: 1_700_000_000,
  data: [
    {
      b64_json:
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    },
  ],
};

const CHUNK = {
  id: 'chatcmpl-bench',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'bench-model',
};

function json(status: number, value: unknown): Uint8Array {
  const body = JSON.stringify(value);
  return bytes(
    `HTTP/1.1 ${status} ${status === 200 ? 'OK' : 'Failed'}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
}

function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function framed(text: string): Uint8Array {
  return bytes(frame(text));
}

function frame(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
