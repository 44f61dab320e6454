import { embeddingsRefusal } from '../bill/openai-wire.ts';
import { chatRefusal, imageRefusal } from '../providers/openai-rules.ts';
import type { Fields, Refusal } from '../providers/stand-in.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';

/** Models as OpenAI lists them, and as providers that say more about them do. */
export type ListedEntry = Readonly<Record<string, unknown>>;

/**
 * `GET /v1/models` over real HTTP, with the key checked, and one short answer of each kind, for what OpenAI's reference
 * allows; every other path is 404.
 */
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

  async #answer(request: Request): Promise<Response> {
    if (request.headers.get('authorization') !== `Bearer ${this.key}`)
      return Response.json(
        { error: { message: `Incorrect API key provided: ${this.key}` } },
        { status: 401 },
      );
    const { pathname } = new URL(request.url);
    this.asked.push(pathname);
    if (this.instead) return this.instead();
    const work = request.method === 'POST' ? WORK[pathname] : undefined;
    if (work) return answered(work, (await request.json()) as Fields);
    if (request.method !== 'GET' || pathname !== '/v1/models')
      return Response.json({ error: { message: 'Not found' } }, { status: 404 });
    return Response.json({ object: 'list', data: this.models });
  }
}

/** OpenAI says nothing but names: https://developers.openai.com/api/reference/resources/models. */
export function bareModel(id: string): ListedEntry {
  return { id, object: 'model', created: 1_700_000_000, owned_by: 'system' };
}

interface Work {
  refusal(body: Fields): Refusal | undefined;
  answer(body: Fields): unknown;
}

const WORK: Readonly<Record<string, Work | undefined>> = {
  '/v1/chat/completions': {
    refusal: (body) => chatRefusal({ ...body, model: 'gpt-4o-mini' }),
    answer: ({ model }) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model,
      choices: [{ index: 0, message: { role: 'assistant', content: 'Good day' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
    }),
  },
  '/v1/embeddings': {
    refusal: embeddingsRefusal,
    answer: ({ model }) => ({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }],
      model,
      usage: { prompt_tokens: 4, total_tokens: 4 },
    }),
  },
  '/v1/images/generations': {
    refusal: (body) => imageRefusal({ ...body, model: 'dall-e-3' }, 'generation'),
    answer: () => ({ created: 1_700_000_000, data: [{ b64_json: PIXEL_BASE64 }] }),
  },
};

function answered({ refusal, answer }: Work, body: Fields): Response {
  const refused = refusal(body);
  if (!refused) return Response.json(answer(body));
  const { message, param, code } = refused;
  return Response.json(
    { error: { message, type: 'invalid_request_error', param, code } },
    { status: refused.status },
  );
}
