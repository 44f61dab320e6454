/** A provider that speaks OpenAI's API in its own way, as data. What it does not document it refuses in its own words. */
export interface StrictProvider {
  readonly preset: string;
  /** The documented fields of a chat request, several to a line. */
  readonly fields: readonly string[];
  readonly refusal: (field: string) => { readonly status: number; readonly body: unknown };
  /** Where a stream has its usage: in a chunk of its own if asked for, or always in the last one with a choice. */
  readonly usage: 'if_asked' | 'with_finish';
  /** Sent before the first chunk, and between chunks. */
  readonly comment?: string;
  readonly lineEnd?: '\r\n';
  /** The field with the model's thoughts. */
  readonly reasoning?: string;
  /** What else every chunk and whole answer has. */
  readonly more?: Readonly<Record<string, unknown>>;
  /** What else its usage has. */
  readonly moreUsage?: Readonly<Record<string, unknown>>;
  readonly source: string;
}

export interface ProviderBill {
  readonly input: number;
  readonly output: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** A status, or an error within a stream that began with 200. */
export type ProviderFailure = 401 | 429 | 500 | 'first_event' | 'late_event';

const WORDS = ['Seven', ' words', ' that', ' this', ' provider', ' always', ' says.'];
export const STRICT_TEXT = WORDS.join('');
const THOUGHT = 'Hm.';
const INPUT_TOKENS = 11;

/** The provider over real HTTP; what it answers stands on its own invoice. */
export class StrictServer {
  readonly key = 'sk-of-the-operator';
  readonly received: Fields[] = [];
  readonly invoice: ProviderBill[] = [];
  /** How every answer fails from now on. */
  failure: ProviderFailure | undefined;
  readonly #provider: StrictProvider;
  readonly #known: ReadonlySet<string>;
  readonly #server: ReturnType<typeof Bun.serve>;

  constructor(provider: StrictProvider) {
    this.#provider = provider;
    this.#known = new Set(provider.fields.flatMap((line) => line.split(' ')));
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

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    if (request.headers.get('authorization') !== `Bearer ${this.key}`)
      return Response.json({ error: { message: 'Invalid API key' } }, { status: 401 });
    if (new URL(request.url).pathname !== '/v1/chat/completions')
      return Response.json({ error: { message: 'Not found' } }, { status: 404 });
    const body = (await request.json()) as Fields;
    this.received.push(body);
    const unknown = Object.keys(body).find((field) => !this.#known.has(field));
    if (unknown !== undefined) {
      const { status, body: refusal } = this.#provider.refusal(unknown);
      return Response.json(refusal, { status });
    }
    if (typeof this.failure === 'number') return failed(this.failure);
    const cap = Number(body['max_completion_tokens'] ?? body['max_tokens'] ?? Infinity);
    const words = WORDS.slice(0, cap);
    const bill = { input: INPUT_TOKENS, output: words.length };
    this.invoice.push(bill);
    return body['stream'] === true ? this.#stream(body, words, bill) : this.#whole(words, bill);
  }

  #usage({ input, output }: ProviderBill): Fields {
    const counts = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
    return { ...counts, ...this.#provider.moreUsage };
  }

  #finish(words: readonly string[]): string {
    return words.length < WORDS.length ? 'length' : 'stop';
  }

  #whole(words: readonly string[], bill: ProviderBill): Response {
    const { reasoning, more } = this.#provider;
    const message = {
      role: 'assistant',
      content: words.join(''),
      ...(reasoning && { [reasoning]: THOUGHT }),
    };
    return Response.json({
      id: 'gen-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'served-model',
      ...more,
      choices: [{ index: 0, message, finish_reason: this.#finish(words) }],
      usage: this.#usage(bill),
    });
  }

  #stream(body: Fields, words: readonly string[], bill: ProviderBill): Response {
    const { reasoning, usage, comment, lineEnd = '\n' } = this.#provider;
    const options = body['stream_options'] as { include_usage?: boolean } | undefined;
    const finish = choice({}, this.#finish(words));
    const chunks = [
      ...(reasoning ? [choice({ role: 'assistant', [reasoning]: THOUGHT })] : []),
      ...words.map((content) => choice({ content })),
      usage === 'with_finish' ? { ...finish, usage: this.#usage(bill) } : finish,
      ...(usage === 'if_asked' && options?.include_usage ? [{ choices: [], usage: this.#usage(bill) }] : []),
    ];
    const events = chunks.map((one) => `data: ${JSON.stringify(this.#chunk(one))}`);
    if (this.failure === 'first_event') events.splice(0, events.length, ERROR_EVENT);
    if (this.failure === 'late_event') events.splice(-2, 2, ERROR_EVENT);
    const lines = [...events.flatMap((event) => (comment ? [comment, event] : [event])), 'data: [DONE]'];
    const text = lines.map((line) => line + lineEnd + lineEnd).join('');
    return new Response(text, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
  }

  #chunk(one: Fields): Fields {
    const labels = {
      id: 'gen-1',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: 'served-model',
    };
    return { ...labels, ...this.#provider.more, ...one };
  }
}

const OVERLOADED = {
  message: `Overloaded, see https://status.example/?key=sk-internal`,
  type: 'server_error',
};
const ERROR_EVENT = `data: ${JSON.stringify({ error: OVERLOADED })}`;

function failed(status: number): Response {
  return Response.json({ error: OVERLOADED }, { status, headers: { 'retry-after': '1' } });
}

function choice(delta: Fields, finish_reason: string | null = null): Fields {
  return { choices: [{ index: 0, delta, finish_reason }] };
}
