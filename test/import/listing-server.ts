/** Models as OpenAI lists them, and as providers that say more about them do. */
export type ListedEntry = Readonly<Record<string, unknown>>;

/** `GET /v1/models` over real HTTP, with the key checked; every other path is 404. */
export class ListingServer {
  readonly key = 'sk-of-the-operator';
  /** Paths that were asked for with the key. */
  readonly asked: string[] = [];
  models: readonly ListedEntry[];
  /** Answers with this instead. */
  instead: (() => Response) | undefined;
  readonly #server: ReturnType<typeof Bun.serve>;

  constructor(models: readonly ListedEntry[]) {
    this.models = models;
    this.#server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => this.#answer(request) });
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  #answer(request: Request): Response {
    if (request.headers.get('authorization') !== `Bearer ${this.key}`)
      return Response.json(
        { error: { message: `Incorrect API key provided: ${this.key}` } },
        { status: 401 },
      );
    const { pathname } = new URL(request.url);
    this.asked.push(pathname);
    if (this.instead) return this.instead();
    if (request.method !== 'GET' || pathname !== '/v1/models')
      return Response.json({ error: { message: 'Not found' } }, { status: 404 });
    return Response.json({ object: 'list', data: this.models });
  }
}

/** OpenAI says nothing but names: https://developers.openai.com/api/reference/resources/models. */
export function bareModel(id: string): ListedEntry {
  return { id, object: 'model', created: 1_700_000_000, owned_by: 'system' };
}
