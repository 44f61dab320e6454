import { replyTo, type AskedOfModel, type ChatBill, type ModelReply } from './model-reply.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Why a provider does not answer a request, before it is put into the provider's own shape. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
  /** The whole answer, where this refusal has a shape of its own. */
  readonly body?: unknown;
}

export interface ImageBill {
  readonly kind: 'images';
  readonly model: string;
  readonly images: number;
  readonly size: string;
  /** Of a stream. */
  readonly partials?: number;
}

export type BilledCall = ChatBill | ImageBill;

/** A status, or an error within an answer that has status 200: whole, in a stream's first event, or later. */
export type ProviderFailure = number | 'whole_200' | 'first_event' | 'late_event';

export interface StandInCall {
  readonly request: Request;
  readonly url: URL;
  readonly text: string;
  readonly body: Fields;
  /** The provider's own name of it. */
  readonly model: string;
  readonly key: string;
}

/** How one provider's chat looks on the wire. What its reference says it refuses, `refusal` refuses. */
export interface ProviderWire {
  /** What follows the host in the provider's address. */
  readonly path: string;
  readonly reasoningTokens: number;
  readonly streamType?: string;
  /** The model's name, where it is not a field of the body. */
  model?(url: URL): string | undefined;
  /** Why the request is not let in: a wrong key, path or version. */
  entrance(call: StandInCall): Refusal | undefined;
  refusal(call: StandInCall): Refusal | undefined;
  asked(call: StandInCall): AskedOfModel;
  whole(reply: ModelReply, call: StandInCall): unknown;
  /** One text or one piece of bytes per event, as it is sent. */
  stream(reply: ModelReply, call: StandInCall): readonly (string | Uint8Array)[];
  error(refusal: Refusal): unknown;
  /** How a failure looks that is another status, or other words, at this provider. */
  failed?(status: number): Refusal | undefined;
  /** An error as an event of a stream. */
  readonly errorEvent: string | Uint8Array;
  /** Requests that are no chat: lists of models, images. */
  other?(call: StandInCall, books: StandInBooks): Promise<Response | undefined>;
}

export interface StandInBooks {
  readonly invoice: BilledCall[];
  readonly received: ReceivedCall[];
  readonly base: string;
}

export interface ReceivedCall {
  readonly path: string;
  /** As it was sent. */
  readonly body: Fields;
  readonly headers?: Headers;
  readonly refusal: Refusal | undefined;
}

/** A provider over real HTTP: it refuses what the real one refuses, and what it answers stands on its own invoice. */
export class StandIn {
  readonly key = 'sk-proj-of-the-operator';
  /** Every call for a chat that carried the key, in order. */
  readonly received: ReceivedCall[] = [];
  readonly invoice: BilledCall[] = [];
  /** How every answer fails from now on. */
  failure: ProviderFailure | undefined;
  /** What every chat is refused with from now on, whatever it says. */
  refuseAs: Refusal | undefined;
  /** How the network hands over the bytes of a stream; absent: all at once. */
  delivery: ((bytes: Uint8Array<ArrayBuffer>) => BodyInit) | undefined;
  readonly #wire: ProviderWire;
  readonly #deployments: Readonly<Record<string, string>>;
  readonly #server: ReturnType<typeof Bun.serve>;

  /** `deployments`: names of this account's own, each for one of the provider's models. */
  constructor(wire: ProviderWire, deployments: Readonly<Record<string, string>> = {}) {
    this.#wire = wire;
    this.#deployments = deployments;
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: async (request) => encoded(await this.#answer(request), request),
    });
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#server.port}${this.#wire.path}`;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const wire = this.#wire;
    const url = new URL(request.url);
    const call = { request, url, text: await request.clone().text(), body: {}, model: '', key: this.key };
    const other = await wire.other?.(call, {
      invoice: this.invoice,
      received: this.received,
      base: this.baseUrl,
    });
    if (other) return other;
    const barred = wire.entrance(call);
    if (barred) return this.#refuse(barred);
    const sent = readJson(request, call.text);
    if (!sent) return this.#refuse({ status: 400, message: 'We could not parse the body of your request.' });
    const name = wire.model?.(url) ?? textOf(sent['model']);
    const read = { ...call, body: sent, model: this.#deployments[name] ?? name };
    const refusal = wire.refusal(read) ?? this.refuseAs;
    this.received.push({ path: url.pathname, body: sent, headers: request.headers, refusal });
    if (refusal) return this.#refuse(refusal);
    if (typeof this.failure === 'number')
      return this.#refuse(wire.failed?.(this.failure) ?? failureOf(this.failure));
    return this.#reply(read);
  }

  #reply(call: StandInCall): Response {
    const wire = this.#wire;
    const asked = wire.asked(call);
    const reply = replyTo(asked, wire.reasoningTokens);
    if (this.failure === 'whole_200') return Response.json(wire.error(failureOf(500)));
    // A stream that fails at once is not billed by anybody.
    if (this.failure !== 'first_event') this.invoice.push(reply.bill);
    if (!asked.stream) return Response.json(wire.whole(reply, call));
    const events = [...wire.stream(reply, call)];
    if (this.failure === 'first_event') events.splice(0, events.length, wire.errorEvent);
    if (this.failure === 'late_event') events.splice(Math.ceil(events.length / 2), Infinity, wire.errorEvent);
    const bytes = new Uint8Array(Buffer.concat(events.map((event) => Buffer.from(event))));
    return new Response(this.delivery?.(bytes) ?? bytes, {
      headers: { 'content-type': wire.streamType ?? 'text/event-stream; charset=utf-8' },
    });
  }

  #refuse(refusal: Refusal): Response {
    const headers = refusal.status === 429 ? { 'retry-after': '1' } : undefined;
    return Response.json(refusal.body ?? this.#wire.error(refusal), {
      status: refusal.status,
      ...(headers && { headers }),
    });
  }
}

/** The words of a failure that the operator has to deal with; no client may read them. */
export const OVERLOADED = 'Overloaded, see https://status.example/?key=sk-internal';
/** The words of a failure that the client can do something about. */
export const TOO_LONG = 'The conversation is too long for this model.';

/** Statuses that blame the request. */
const REJECTIONS = new Set([400, 409, 413, 415, 422]);

function failureOf(status: number): Refusal {
  return { status, message: REJECTIONS.has(status) ? TOO_LONG : OVERLOADED, param: null, code: null };
}

/** Every one of them sits behind a proxy that compresses for whoever takes it, and so holds a stream back. */
async function encoded(response: Response, request: Request): Promise<Response> {
  const accepted = request.headers.get('accept-encoding') ?? '';
  if (!accepted.includes('gzip') || !response.body) return response;
  const headers = new Headers(response.headers);
  headers.set('content-encoding', 'gzip');
  return new Response(Bun.gzipSync(await response.bytes()), { status: response.status, headers });
}

function readJson(request: Request, text: string): Fields | undefined {
  if (!request.headers.get('content-type')?.startsWith('application/json')) return undefined;
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Fields) : undefined;
  } catch {
    // Answered as a body that cannot be read.
    return undefined;
  }
}

/** A field as text: absent is empty, and what is no text shows as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

/** An object's members; nothing for anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** The first of a request's fields that is not in the list; `words` has several to a line. */
export function unknownField(body: unknown, words: readonly string[]): string | undefined {
  const known = new Set(words.flatMap((line) => line.split(/\s+/)));
  return Object.keys(fieldsOf(body)).find((field) => !known.has(field));
}

export function bearerKey({ request, key }: StandInCall): Refusal | undefined {
  if (request.headers.get('authorization') === `Bearer ${key}`) return undefined;
  return { status: 401, message: 'Incorrect API key provided.', param: null, code: 'invalid_api_key' };
}
