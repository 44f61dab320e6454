import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import {
  chatModel,
  chatRefusal,
  imageRefusal,
  isGptImage,
  textOf,
  type Fields,
  type Refusal,
} from './openai-rules.ts';

/** What one request costs its sender, as the provider counts it. */
export type BilledCall =
  | {
      readonly kind: 'chat';
      readonly model: string;
      /** Includes `cached`. */
      readonly input: number;
      readonly cached: number;
      /** Includes `reasoning`. */
      readonly output: number;
      readonly reasoning: number;
    }
  | { readonly kind: 'images'; readonly model: string; readonly images: number; readonly size: string };

export interface ReceivedCall {
  readonly path: string;
  readonly body: Fields;
  readonly refusal: Refusal | undefined;
}

/**
 * OpenAI's API over real HTTP, as strict as its reference (`openai-rules.ts`): what the reference refuses is refused
 * here, and what is answered stands on an invoice of its own.
 */
export class StrictOpenAi {
  readonly key = 'sk-proj-of-the-operator';
  /** Every call that carried the key, in order. */
  readonly received: ReceivedCall[] = [];
  readonly invoice: BilledCall[] = [];
  readonly #deployments: Readonly<Record<string, string>>;
  readonly #server: ReturnType<typeof Bun.serve>;

  /** `deployments`: names of this account's own, each for one of the provider's models. */
  constructor(deployments: Readonly<Record<string, string>> = {}) {
    this.#deployments = deployments;
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
    const { pathname: path } = new URL(request.url);
    if (request.method === 'GET' && path === FILE_PATH) return pictureFile();
    if (request.headers.get('authorization') !== `Bearer ${this.key}`) return refuse(NO_KEY);
    if (request.method === 'GET' && path === '/v1/models') return Response.json({ object: 'list', data: [] });
    if (request.method !== 'POST' || !Object.hasOwn(OPERATIONS, path)) return refuse(NO_PATH);
    const { read, refusal, answer } = OPERATIONS[path as keyof typeof OPERATIONS];
    const sent = await read(request);
    if (!sent) return refuse(NOT_READABLE);
    const body = { ...sent, model: this.#deployments[textOf(sent['model'])] ?? sent['model'] };
    const refused = refusal(body);
    this.received.push({ path, body: sent, refusal: refused });
    return refused ? refuse(refused) : answer(body, { invoice: this.invoice, base: this.baseUrl });
  }
}

interface Books {
  readonly invoice: BilledCall[];
  readonly base: string;
}

const OPERATIONS = {
  '/v1/chat/completions': { read: readJson, refusal: chatRefusal, answer: chat },
  '/v1/images/generations': {
    read: readJson,
    refusal: (body: Fields) => imageRefusal(body, 'generation'),
    answer: images,
  },
  '/v1/images/edits': { read: readForm, refusal: editRefusal, answer: images },
} as const;

async function readJson(request: Request): Promise<Fields | undefined> {
  if (!request.headers.get('content-type')?.startsWith('application/json')) return undefined;
  const body: unknown = await request.json().catch(() => undefined);
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Fields) : undefined;
}

async function readForm(request: Request): Promise<Fields | undefined> {
  if (!request.headers.get('content-type')?.startsWith('multipart/form-data')) return undefined;
  const form = await request.formData();
  return Object.fromEntries([...form.keys()].map((key) => [key, form.get(key)]));
}

function editRefusal(body: Fields): Refusal | undefined {
  const refusal = imageRefusal(body, 'edit');
  if (refusal) return refusal;
  const picture = body['image'] ?? body['image[]'];
  if (picture instanceof Blob && picture.size > 0) return undefined;
  return { status: 400, code: 'missing_required_parameter', param: 'image', message: 'Missing: image.' };
}

const WORDS = 'Twelve plain words that every whole answer of this provider will hold.'.split(/(?= )/);
const REASONING_TOKENS = 48;

function chat(body: Fields, { invoice }: Books): Response {
  const model = textOf(body['model']);
  const cap = Number(body['max_completion_tokens'] ?? body['max_tokens'] ?? Infinity);
  const wanted = chatModel(model)?.reasoning ? REASONING_TOKENS : 0;
  // Reasoning is written first and counts against the cap: a low one leaves no room for words.
  const reasoning = Math.min(wanted, cap);
  const words = WORDS.slice(0, Math.max(0, cap - reasoning));
  const input = inputTokens(body['messages'] as Fields[]);
  // "Cached prefixes" begin at 1,024 tokens and grow by 128.
  const cached = input < 1024 ? 0 : Math.floor(input / 2 / 128) * 128;
  const output = reasoning + words.length;
  invoice.push({ kind: 'chat', model, input, cached, output, reasoning });
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  };
  const answer = { model, words, usage, finish: words.length < WORDS.length ? 'length' : 'stop' };
  return body['stream'] === true ? streamed(answer, includesUsage(body)) : whole(answer);
}

interface Answer {
  readonly model: string;
  readonly words: readonly string[];
  readonly usage: Fields;
  readonly finish: string;
}

const HEAD = { id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT', created: 1_741_569_952 };

function whole({ model, words, usage, finish }: Answer): Response {
  const message = { role: 'assistant', content: words.join(''), refusal: null, annotations: [] };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
  return Response.json({
    ...HEAD,
    object: 'chat.completion',
    model,
    choices,
    usage,
    service_tier: 'default',
  });
}

/** "An additional chunk will be streamed before [DONE]; all other chunks will also include usage, but with a null value." */
function streamed({ model, words, usage, finish }: Answer, withUsage: boolean): Response {
  const event = (choices: unknown[], counts: unknown) => {
    const chunk = { ...HEAD, object: 'chat.completion.chunk', model, choices };
    return `data: ${JSON.stringify(withUsage ? { ...chunk, usage: counts } : chunk)}\n\n`;
  };
  const piece = (delta: Fields, reason: string | null = null) =>
    event([{ index: 0, delta, logprobs: null, finish_reason: reason }], null);
  const events = [
    piece({ role: 'assistant', content: '', refusal: null }),
    ...words.map((content) => piece({ content })),
    piece({}, finish),
    ...(withUsage ? [event([], usage)] : []),
    'data: [DONE]\n\n',
  ];
  return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
}

function includesUsage(body: Fields): boolean {
  return (body['stream_options'] as Fields | undefined)?.['include_usage'] === true;
}

/** A count of its own: what the gateway would count must not matter. */
function inputTokens(messages: readonly Fields[]): number {
  return messages.reduce(
    (sum, message) => sum + 4 + Math.ceil(JSON.stringify(message['content']).length / 5),
    3,
  );
}

const FILE_PATH = '/files/picture.png';

function images(body: Fields, { invoice, base }: Books): Response {
  const model = textOf(body['model']);
  const count = Number(body['n'] ?? 1);
  const size = textOf(body['size'] ?? '1024x1024');
  invoice.push({ kind: 'images', model, images: count, size });
  const inline = isGptImage(model) || body['response_format'] === 'b64_json';
  const one = {
    ...(inline ? { b64_json: PIXEL_BASE64 } : { url: new URL(FILE_PATH, base).href }),
    ...(model === 'dall-e-3' ? { revised_prompt: `${textOf(body['prompt'])}, in detail` } : {}),
  };
  const usage = { input_tokens: 9, output_tokens: 1056, total_tokens: 1065 };
  return Response.json({
    created: HEAD.created,
    data: Array.from({ length: count }, () => one),
    ...(isGptImage(model) ? { output_format: 'png', quality: 'high', size, usage } : {}),
  });
}

function pictureFile(): Response {
  return new Response(Buffer.from(PIXEL_BASE64, 'base64'), { headers: { 'content-type': 'image/png' } });
}

const NO_KEY: Refusal = {
  status: 401,
  code: 'invalid_api_key',
  param: null,
  message: 'Incorrect API key provided.',
};
const NO_PATH: Refusal = { status: 404, code: 'unknown_url', param: null, message: 'Unknown request URL.' };
const NOT_READABLE: Refusal = {
  status: 400,
  code: null,
  param: null,
  message: 'We could not parse the body of your request.',
};

function refuse({ status, code, param, message }: Refusal): Response {
  return Response.json({ error: { message, type: 'invalid_request_error', param, code } }, { status });
}
