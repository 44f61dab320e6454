import {
  CAP_FIELDS,
  IMAGE_FORMATS,
  type CapField,
  type ImageFormat,
  type RequestForm,
  type UpstreamConfig,
} from '../catalog/catalog.ts';
import { parseAnswer, readBytes, readJsonAnswer } from '../std/json-answer.ts';
import { withMembers, type JsonText } from '../std/json-parse.ts';
import { encodeInSteps, LONG_TEXT } from '../std/long-text.ts';
import { remembered } from '../std/remembered.ts';
import { withTrace } from '../std/trace.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import { ANSWER, CHAT_ANSWER, EMBEDDINGS_ANSWER } from './answer-rules.ts';
import { IMAGE_PATH, type ImageLinkRules } from './image-download.ts';
import { collectImages } from './image-response.ts';
import { imageEvents, imageMessage, type ImageMessage, type ImageStreaming } from './openai-images.ts';
import {
  connectionFailure,
  finishedImages,
  UpstreamFailure,
  type ChatAnswer,
  type EmbeddingAnswer,
  type ImageAnswer,
  type ImageEvent,
  type LearnedField,
  type Upstream,
  type UpstreamChatCall,
  type UpstreamEmbeddingCall,
  type UpstreamHealth,
  type UpstreamImageCall,
  type UpstreamImageStreamCall,
  type UpstreamModerationCall,
} from './port.ts';
import { failureOf, refuseEncoded } from './response.ts';

/**
 * Any server that speaks OpenAI's API. Its answers are passed on as bytes: tools, audio, logprobs, reasoning and future
 * fields arrive because nothing here interprets them.
 */
export function makeOpenAi(config: UpstreamConfig, onLearned?: (learned: LearnedField) => void): Upstream {
  return new OpenAiUpstream(config, onLearned);
}

class OpenAiUpstream implements Upstream {
  readonly name: string;
  readonly #urlOf: (path: string) => string;
  /** A `Headers` object, because a plain one would be converted for every call. */
  readonly #headers: Headers;
  readonly #forms: RequestForms;
  readonly #asksForUsage: boolean;
  readonly #imageLinks: ImageLinkRules;
  readonly #imageDialect: UpstreamConfig['images'];
  readonly #unsupported: readonly string[];
  readonly #wholeCap: number;
  readonly #listsModels: boolean;
  readonly #onLearned: ((learned: LearnedField) => void) | undefined;

  constructor(config: UpstreamConfig, onLearned?: (learned: LearnedField) => void) {
    this.name = config.name;
    this.#onLearned = onLearned;
    this.#unsupported = config.unsupportedFields ?? [];
    this.#imageDialect = config.images;
    this.#wholeCap = config.wholeCap ?? Infinity;
    this.#listsModels = config.listsModels !== false;
    const base = (config.baseUrl ?? '').replace(/\/+$/, '');
    this.#urlOf = remembered((path) => base + path, MAX_PATHS);
    this.#headers = new Headers({
      'content-type': 'application/json',
      // A compressed stream would be held back until a block is full.
      'accept-encoding': 'identity',
      ...(config.apiKey === undefined ? {} : { authorization: `Bearer ${config.apiKey}` }),
      ...Object.fromEntries(config.headers),
    });
    this.#forms = new RequestForms(config.options);
    this.#imageLinks = {
      backend: new URL(base),
      ownPath: config.options.get('image_path') ?? IMAGE_PATH,
    };
    this.#asksForUsage = config.options.get('stream_usage') !== 'false';
  }

  async chat(asked: UpstreamChatCall): Promise<ChatAnswer> {
    const call =
      this.#unsupported.length === 0
        ? asked
        : { ...asked, request: supported(asked.request, this.#unsupported) };
    const form = this.#forms.of(call);
    let response: Response;
    try {
      response = await this.#post('/chat/completions', this.#chatBody(call, form), call);
    } catch (thrown) {
      response = await this.#chatAgain(call, form, thrown);
    }
    if (call.request.stream !== true) {
      // As `readJsonAnswer` does it: another asynchronous function here would cost every chat several objects.
      const json = parseAnswer(await readBytes(response, CHAT_ANSWER), CHAT_ANSWER);
      return { kind: 'whole', json: json instanceof Promise ? await json : json };
    }
    if (!response.headers.get('content-type')?.includes('text/event-stream') || !response.body) {
      await response.body?.cancel();
      throw new UpstreamFailure('protocol', 'asked for a stream, got something else', {
        status: response.status,
      });
    }
    return { kind: 'stream', body: response.body };
  }

  #chatAgain(call: UpstreamChatCall, form: SentForm, refusal: unknown): Promise<Response> {
    const again = formWithout(refusal, this.#addedToChat(call, form));
    return this.#askAgain(call, again, refusal, (other) =>
      this.#post('/chat/completions', this.#chatBody(call, other), call),
    );
  }

  async images(call: UpstreamImageCall): Promise<ImageAnswer> {
    return await this.#collected(await this.#askForImages(call), call.signal);
  }

  async streamImages(call: UpstreamImageStreamCall): Promise<AsyncIterator<ImageEvent, unknown>> {
    const response = await this.#askForImages(call, { stream: true, partial_images: call.partialImages });
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
    if (isStream && response.body) return imageEvents(response.body);
    // A server that does not know the field answers as a whole.
    return finishedImages(await this.#collected(response, call.signal));
  }

  async #collected(response: Response, signal: AbortSignal): Promise<ImageAnswer> {
    const { value } = await readJsonAnswer(response, ANSWER);
    return await collectImages(value, this.#imageLinks, signal);
  }

  async #askForImages(call: UpstreamImageCall, streaming?: ImageStreaming): Promise<Response> {
    const form = this.#forms.of(call);
    const send = (asked: SentForm): Promise<Response> =>
      this.#postImages(imageMessage(call, asked.imageFormat, this.#imageDialect, streaming), call);
    return await send(form).catch((thrown: unknown) => {
      const isAdded = imageMessage(call, form.imageFormat, this.#imageDialect).isFormatSent;
      return this.#askAgain(call, formWithout(thrown, { imageFormat: isAdded }), thrown, send);
    });
  }

  async embed(call: UpstreamEmbeddingCall): Promise<EmbeddingAnswer> {
    const body = JSON.stringify({ ...call.request, model: call.model });
    const response = await this.#post('/embeddings', body, call);
    return embeddingAnswer(await readJsonAnswer(response, EMBEDDINGS_ANSWER));
  }

  async moderate(call: UpstreamModerationCall): Promise<JsonText> {
    const body = JSON.stringify({ ...call.request, model: call.model });
    const json = await readJsonAnswer(await this.#post('/moderations', body, call), ANSWER);
    if (typeof json.value === 'object' && json.value !== null && 'results' in json.value) return json;
    throw new UpstreamFailure('protocol', 'the answer holds no judgements');
  }

  async check(signal: AbortSignal): Promise<UpstreamHealth> {
    const startedAt = performance.now();
    const detail = this.#listsModels
      ? 'reachable, key accepted'
      : 'reachable; only a request can check the key';
    try {
      const response = await this.#send('/models', initOf('GET', signal, this.#headers));
      await response.body?.cancel();
    } catch (thrown) {
      const isMissing = thrown instanceof UpstreamFailure && thrown.kind === 'not_found';
      if (this.#listsModels || !isMissing) throw thrown;
    }
    return {
      ok: true,
      detail,
      latencyMs: Math.round(performance.now() - startedAt),
    };
  }

  learned(): LearnedField[] {
    return this.#forms.learned();
  }

  /** Tries once more as the refusal asks for, and remembers that form if the backend then takes the request. */
  async #askAgain(
    call: { readonly model: string; readonly form?: RequestForm | undefined },
    learned: LearnedForm | undefined,
    refusal: unknown,
    send: (form: SentForm) => Promise<Response>,
  ): Promise<Response> {
    if (!learned) throw refusal;
    const form = mergeForms(learned, this.#forms.of(call));
    const response = await send(form).catch((thrown: unknown) => {
      throw thrown instanceof UpstreamFailure && thrown.kind === 'rejected' ? refusal : thrown;
    });
    this.#forms.learn(call.model, learned);
    for (const one of learnedFields(call.model, learned)) this.#onLearned?.(one);
    return response;
  }

  #addedToChat({ request }: UpstreamChatCall, form: SentForm): AddedFields {
    const asked = request.max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens';
    return {
      cap: form.capField ?? asked,
      streamUsage: request.stream === true && this.#asksForUsage && form.streamUsage !== false,
    };
  }

  #chatBody({ model, request }: UpstreamChatCall, { capField, streamUsage }: SentForm): string {
    // Most requests go out as they are.
    if (capField === undefined && request.stream !== true && request.model === model)
      return JSON.stringify(request);
    const body: Record<string, unknown> = { ...request, model };
    if (capField !== undefined) {
      // JSON leaves `undefined` out, and setting it is cheaper than copying the object without the field.
      body['max_tokens'] = undefined;
      body['max_completion_tokens'] = undefined;
      const cap = request.max_completion_tokens ?? request.max_tokens;
      body[capField] =
        cap !== undefined && cap > this.#wholeCap && request.stream !== true ? this.#wholeCap : cap;
    }
    if (request.stream === true) {
      body['stream_options'] =
        this.#asksForUsage && streamUsage !== false
          ? { ...request.stream_options, include_usage: true }
          : withoutUsage(request.stream_options);
    }
    return JSON.stringify(body);
  }

  #postImages({ path, json, form }: ImageMessage, call: UpstreamImageCall): Promise<Response> {
    return form ? this.#postForm(path, form, call) : this.#post(path, JSON.stringify(json), call);
  }

  #post(path: string, body: string, { signal, trace }: SentCall): Promise<Response> {
    const headers = trace ? withTrace(this.#headers, trace) : this.#headers;
    const init = initOf('POST', signal, headers, body);
    return body.length <= LONG_TEXT ? this.#send(path, init) : this.#sendLong(path, init, body);
  }

  async #sendLong(path: string, init: BunFetchRequestInit, body: string): Promise<Response> {
    return await this.#send(path, { ...init, body: await encodeInSteps(body) });
  }

  async #postForm(path: string, body: FormData, { signal, trace }: SentCall): Promise<Response> {
    const headers = trace ? withTrace(this.#headers, trace) : new Headers(this.#headers);
    headers.delete('content-type');
    return await this.#send(path, initOf('POST', signal, headers, body));
  }

  #send(path: string, init: BunFetchRequestInit): Promise<Response> {
    return fetch(this.#urlOf(path), init).then(accepted, notConnected);
  }
}

/** A redirect is an error: following it would send the key to another server. */
function initOf(
  method: 'GET' | 'POST',
  signal: AbortSignal,
  headers: Headers,
  body: BodyInit | null = null,
): BunFetchRequestInit {
  return { method, body, signal, headers, redirect: 'manual', decompress: false, timeout: false };
}

function accepted(response: Response): Response | Promise<Response> {
  return response.ok && !response.headers.has('content-encoding') ? response : refused(response);
}

async function refused(response: Response): Promise<Response> {
  if (!response.ok) throw await failureOf(response);
  await refuseEncoded(response);
  return response;
}

function notConnected(cause: unknown): never {
  throw connectionFailure(cause);
}

/** More than the API has. */
const MAX_PATHS = 16;

type SentCall = Pick<UpstreamChatCall, 'signal' | 'trace'>;

/** The client gets its usage from Tollgate then; other options stay its own. */
function withoutUsage(options: UpstreamChatCall['request']['stream_options']): object | undefined {
  if (!options) return undefined;
  const { include_usage: _, ...others } = options;
  return Object.keys(others).length === 0 ? undefined : others;
}

interface Family {
  readonly name: RegExp;
  readonly form: RequestForm;
}

/**
 * Families of OpenAI's models that refuse what other models and servers take. From the API reference
 * (https://developers.openai.com/api/reference): `max_tokens` of chat completions is "not compatible with o-series
 * models", and every model since GPT-5 answers it with 400 `unsupported_parameter`; `response_format` of images is
 * "unsupported for GPT image models, which always return base64-encoded images".
 *
 * A number ends at a dot, a dash or the name's end: `gpt-35-turbo` is Azure's GPT-3.5, and `o1x` is not OpenAI's.
 */
const FAMILIES: readonly Family[] = [
  { name: /^gpt-(?:[5-9]|1\d)(?:[.-]|$)/i, form: { capField: 'max_completion_tokens' } },
  { name: /^o[1-9](?:-|$)/i, form: { capField: 'max_completion_tokens' } },
  { name: /^(?:chat)?gpt-image-/i, form: { imageFormat: 'default' } },
  { name: /^dall-e-/i, form: { imageFormat: 'b64_json' } },
];

/**
 * `gpt-5-mini` of `openai/gpt-5-mini:free` and `ft:gpt-5-mini:team::id`; for another publisher's model, the publisher.
 */
const OWN_NAME = /^(?:(?:.*\/)?(?:openai|azure)\/)?(?:ft:)?([^/:]+)/i;

/** How a request for this model is written, as far as its name tells. */
export function formOfName(model: string): RequestForm {
  const name = OWN_NAME.exec(model)?.[1] ?? model;
  return FAMILIES.find((family) => family.name.test(name))?.form ?? {};
}

/** Names come from the catalog; the limit is for a process that sees very many catalogs. */
const MAX_CACHED = 10_000;

/**
 * How requests to one upstream are written: by the model's entry, then the upstream's options, then the model's name.
 */
export class RequestForms {
  /** What was learned, by the backend's own names of models. */
  readonly #learned = new Map<string, LearnedForm>();
  readonly #usual: (model: string) => RequestForm;

  constructor(options: ReadonlyMap<string, string>) {
    const ofUpstream: RequestForm = {
      capField: oneOf<CapField>(CAP_FIELDS, options.get('cap_field')),
      imageFormat: oneOf<ImageFormat>(IMAGE_FORMATS, options.get('image_format')),
    };
    this.#usual = remembered((model) => mergeForms(ofUpstream, formOfName(model)), MAX_CACHED);
  }

  of({ model, form }: { readonly model: string; readonly form?: RequestForm | undefined }): SentForm {
    const usual = this.#usual(model);
    const configured = form ? mergeForms(form, usual) : usual;
    const learned = this.#learned.size === 0 ? undefined : this.#learned.get(model);
    return learned ? mergeForms(learned, configured) : configured;
  }

  learn(model: string, form: LearnedForm): void {
    const known = this.#learned.get(model);
    if (known || this.#learned.size < MAX_CACHED) this.#learned.set(model, mergeForms(form, known ?? {}));
  }

  learned(): LearnedField[] {
    return [...this.#learned].flatMap(([model, form]) => learnedFields(model, form));
  }
}

type SentForm = RequestForm & Pick<LearnedForm, 'streamUsage'>;

function mergeForms<First extends SentForm, Then extends SentForm>(first: First, then: Then): First & Then;
function mergeForms(first: SentForm, then: SentForm): SentForm {
  return {
    capField: first.capField ?? then.capField,
    imageFormat: first.imageFormat ?? then.imageFormat,
    streamUsage: first.streamUsage ?? then.streamUsage,
  };
}

/** The catalog refuses other values. */
function oneOf<Value extends string>(values: readonly Value[], text: string | undefined): Value | undefined {
  return values.find((value) => value === text);
}

/** Fields that Tollgate itself writes into a request, and that a server may not know. */
interface AddedFields {
  readonly cap?: CapField | undefined;
  readonly streamUsage?: boolean | undefined;
  readonly imageFormat?: boolean | undefined;
}

/** What a backend's refusal taught about one model: how its requests are written from now on. */
interface LearnedForm {
  /** The other name of the output cap, which is never left out. */
  readonly capField?: CapField | undefined;
  readonly streamUsage?: false | undefined;
  readonly imageFormat?: 'default' | undefined;
}

/**
 * How to ask again after a refusal that says that a field of ours is unknown. `undefined`: it is about something else,
 * or about what the client sent.
 */
function formWithout(thrown: unknown, added: AddedFields): LearnedForm | undefined {
  if (!(thrown instanceof UpstreamFailure) || thrown.kind !== 'rejected') return undefined;
  if (!SAYS_UNKNOWN.test(thrown.message)) return undefined;
  const named = (field: string): boolean => thrown.param === field || names(thrown.message, field);
  if (added.streamUsage && (named('stream_options') || named('include_usage'))) return { streamUsage: false };
  if (added.imageFormat && named('response_format')) return { imageFormat: 'default' };
  if (added.cap !== undefined && named(added.cap)) return { capField: OTHER_NAME[added.cap] };
  return undefined;
}

function learnedFields(model: string, form: LearnedForm): LearnedField[] {
  return [
    ...(form.streamUsage === false ? [{ model, field: 'stream_options', instead: undefined }] : []),
    ...(form.imageFormat ? [{ model, field: 'response_format', instead: undefined }] : []),
    ...(form.capField ? [{ model, field: OTHER_NAME[form.capField], instead: form.capField }] : []),
  ];
}

const OTHER_NAME: Record<CapField, CapField> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
};

/**
 * The words of OpenAI ("Unsupported parameter", "Unknown parameter", "Unrecognized request argument supplied"), of
 * servers that check with pydantic, such as Mistral's and older vLLM ("Extra inputs are not permitted",
 * `extra_forbidden`; https://github.com/avante-corp/avante.nvim/issues/2347), of Groq and others ("property … is
 * unsupported", "not supported") and of JSON schemas ("additional properties").
 */
const SAYS_UNKNOWN =
  /unsupported|not supported|unknown|unrecognized|unexpected|extra[_ ](?:inputs|fields|forbidden)|not permitted|not allowed|additional propert|does not support/i;

/** `max_tokens` is not named by `max_tokens_to_sample`. */
function names(message: string, field: string): boolean {
  return new RegExp(`(?<![\\w])${field}(?![\\w])`).test(message);
}

/** The request without fields that the provider does not take; one that asks for something is refused instead. */
function supported(request: ChatRequest, unsupported: readonly string[]): ChatRequest {
  let copy: Record<string, unknown> | undefined;
  for (const field of unsupported) {
    const value = request[field];
    if (value === undefined) continue;
    if (!asksForNothing(field, value)) throw notTaken(field);
    copy ??= { ...request };
    copy[field] = undefined;
  }
  return copy ? { ...request, ...copy } : request;
}

/** Fields that tell who asks and what to store, and do not change the answer. */
const HINTS: ReadonlySet<string> = new Set([
  'user',
  'store',
  'metadata',
  'prompt_cache_key',
  'safety_identifier',
]);

/** Clients send the default of a field where they could leave it out. */
const DEFAULTS: Readonly<Record<string, unknown>> = { n: 1, service_tier: 'auto', tool_choice: 'auto' };

function asksForNothing(field: string, value: unknown): boolean {
  if (HINTS.has(field) || value === false || value === 0 || value === DEFAULTS[field]) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function notTaken(field: string): UpstreamFailure {
  const publicMessage = `This model's provider does not take ${field}.`;
  return new UpstreamFailure('rejected', publicMessage, { status: 400, publicMessage, param: field });
}

/** Vectors as a backend of OpenAI's API wrote them: however many they are, they are not written again. */
function embeddingAnswer(json: JsonText): EmbeddingAnswer {
  const { value } = json;
  if (typeof value !== 'object' || value === null || !('data' in value))
    throw new UpstreamFailure('protocol', 'the answer holds no embeddings');
  return {
    usage: 'usage' in value ? value.usage : undefined,
    text: (changed) => withMembers(json, changed),
  };
}
