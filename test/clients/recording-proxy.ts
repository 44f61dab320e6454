/**
 * A proxy in front of a server that forwards everything and records it: what an SDK really sends, how often, and what it
 * gets back. To the SDK it is just another port.
 */
export class RecordingProxy {
  readonly exchanges: RecordedExchange[] = [];
  readonly #server: ReturnType<typeof Bun.serve>;
  #onStatus: ((status: number) => void) | undefined;

  constructor(target: string) {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: (request) => this.#pass(request, target),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  get statuses(): number[] {
    return this.exchanges.map(({ status }) => status);
  }

  /** Resolves when an answer with this status has passed. */
  saw(status: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onStatus = (passed) => passed === status && resolve();
    });
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #pass(request: Request, target: string): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const body = request.method === 'GET' || request.method === 'HEAD' ? undefined : await request.bytes();
    const headers = new Headers(request.headers);
    headers.delete('host');
    const answer = await fetch(target + pathname + search, {
      method: request.method,
      headers,
      signal: request.signal,
      ...(body ? { body } : {}),
    });
    const text = new TextDecoder().decode(body);
    this.exchanges.push({
      method: request.method,
      path: pathname,
      search,
      headers: request.headers,
      body: text,
      status: answer.status,
      requestId: answer.headers.get('x-request-id'),
      atMs: performance.now(),
      retryAfterMs: retryAfterMs(answer.headers),
    });
    this.#onStatus?.(answer.status);
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  }
}

export interface RecordedExchange {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly headers: Headers;
  readonly body: string;
  readonly status: number;
  readonly requestId: string | null;
  /** When it was answered, on the clock of this process. */
  readonly atMs: number;
  /** How long the client was told to wait. */
  readonly retryAfterMs: number | undefined;
}

function retryAfterMs(headers: Headers): number | undefined {
  const given = headers.get('retry-after-ms');
  return given === null ? undefined : Number(given);
}
