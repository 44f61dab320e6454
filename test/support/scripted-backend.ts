/** An OpenAI-compatible server over real HTTP that does what a test tells it to, and remembers what it was asked. */
export class ScriptedBackend {
  readonly calls: RecordedCall[] = [];
  #server: ReturnType<typeof Bun.serve>;
  #script: Script = () => completion('ok');
  #waiters: { count: number; wake: () => void }[] = [];
  running = 0;
  mostRunning = 0;

  constructor() {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: (request) => this.#answer(request),
    });
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`;
  }

  /** What to answer from now on. */
  script(script: Script): void {
    this.#script = script;
  }

  /** Resolves when this many calls have come in. */
  async called(count: number): Promise<void> {
    if (this.calls.length >= count) return;
    await new Promise<void>((wake) => this.#waiters.push({ count, wake }));
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const text = await request.text();
    const call: RecordedCall = {
      path: new URL(request.url).pathname,
      headers: request.headers,
      body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {},
      text,
      signal: request.signal,
    };
    this.calls.push(call);
    this.running++;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    for (const waiter of this.#waiters.filter(({ count }) => this.calls.length >= count)) waiter.wake();
    try {
      return await this.#script(call, this.calls.length - 1);
    } finally {
      this.running--;
    }
  }
}

export interface RecordedCall {
  readonly path: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
  readonly text: string;
  readonly signal: AbortSignal;
}

export type Script = (call: RecordedCall, index: number) => Response | Promise<Response>;

/** A whole answer with the given usage; without one it has none. */
export function completion(content: string, usage?: unknown, extra: Record<string, unknown> = {}): Response {
  return Response.json({
    id: 'chatcmpl-backend',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'backend-model',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    ...(usage === undefined ? {} : { usage }),
    ...extra,
  });
}

export const usage = (prompt: number, completionTokens: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completionTokens,
  total_tokens: prompt + completionTokens,
});

/** One chunk as text of an event. */
export function chunk(
  delta: Record<string, unknown>,
  finish: string | null = null,
  extra: Record<string, unknown> = {},
): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: 'chatcmpl-backend', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'backend-model', choices, ...extra })}\n\n`;
}

export function usageEvent(prompt: number, completionTokens: number): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-backend', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'backend-model', choices: [], usage: usage(prompt, completionTokens) })}\n\n`;
}

export const DONE = 'data: [DONE]\n\n';

/** A whole stream: the words as one chunk each, then finish, usage and the end. */
export function streamed(
  words: readonly string[],
  counts?: { prompt: number; completion: number },
): Response {
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...words.map((word) => chunk({ content: word })),
    chunk({}, 'stop'),
    ...(counts ? [usageEvent(counts.prompt, counts.completion)] : []),
    DONE,
  ];
  return eventStream(events.join(''));
}

export function eventStream(body: string | ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>): Response {
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** A stream that a test feeds by hand. */
export function openStream(): {
  response: Response;
  send(text: string): void;
  end(): void;
  fail(): void;
  cancelled: Promise<void>;
} {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const gone = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    start: (opened) => void (controller = opened),
    cancel: () => gone.resolve(),
  });
  return {
    response: eventStream(body),
    send: (text) => controller?.enqueue(new TextEncoder().encode(text)),
    end: () => controller?.close(),
    fail: () => controller?.error(new Error('scripted failure')),
    cancelled: gone.promise,
  };
}

/** The smallest PNG there is. */
export const PIXEL_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export function images(count: number): Response {
  return Response.json({
    created: 1_700_000_000,
    data: Array.from({ length: count }, () => ({ b64_json: PIXEL_BASE64 })),
  });
}
