import {
  CAP_FIELDS,
  IMAGE_FORMATS,
  type CapField,
  type ImageFormat,
  type RequestForm,
  type UpstreamConfig,
} from '../catalog/catalog.ts';
import { readBounded } from '../std/bounded-body.ts';
import { remembered } from '../std/remembered.ts';
import type { ImageRequest } from '../wire/openai/images.ts';
import { IMAGE_PATH, type ImageLinkRules } from './image-download.ts';
import { answerTooLarge, failureOf, refuseEncoded } from './response.ts';
import { collectImages } from './image-response.ts';
import {
  connectionFailure,
  UpstreamFailure,
  type ChatAnswer,
  type UpstreamChatCall,
  type UpstreamEmbeddingCall,
  type ImageAnswer,
  type UpstreamImageCall,
  type Upstream,
  type UpstreamHealth,
} from './port.ts';

/**
 * Any server that speaks OpenAI's API. Its answers are passed on as bytes: tools, audio, logprobs, reasoning and future
 * fields arrive because nothing here interprets them.
 */
export function makeOpenAi(config: UpstreamConfig): Upstream {
  return new OpenAiUpstream(config);
}

/** Larger than any chat answer; it is this large because of images in base64. */
const MAX_ANSWER_BYTES = 64 * 1_048_576;

class OpenAiUpstream implements Upstream {
  readonly name: string;
  readonly #base: string;
  /** As a `Headers` object: a plain object would be converted for every call. */
  readonly #headers: Headers;
  readonly #forms: RequestForms;
  readonly #asksForUsage: boolean;
  readonly #imageLinks: ImageLinkRules;

  constructor(config: UpstreamConfig) {
    this.name = config.name;
    this.#base = (config.baseUrl ?? '').replace(/\/+$/, '');
    this.#headers = new Headers({
      'content-type': 'application/json',
      // A compressed stream would be held back until a block is full.
      'accept-encoding': 'identity',
      ...(config.apiKey === undefined ? {} : { authorization: `Bearer ${config.apiKey}` }),
      ...Object.fromEntries(config.headers),
    });
    this.#forms = new RequestForms(config.options);
    this.#imageLinks = {
      backend: new URL(this.#base),
      ownPath: config.options.get('image_path') ?? IMAGE_PATH,
    };
    this.#asksForUsage = config.options.get('stream_usage') !== 'false';
  }

  async chat(call: UpstreamChatCall): Promise<ChatAnswer> {
    const response = await this.#post('/chat/completions', this.#chatBody(call), call.signal);
    if (call.request.stream !== true) return { kind: 'whole', body: await readAnswer(response) };
    if (!response.headers.get('content-type')?.includes('text/event-stream') || !response.body) {
      await response.body?.cancel();
      throw new UpstreamFailure('protocol', 'asked for a stream, got something else', {
        status: response.status,
      });
    }
    return { kind: 'stream', body: response.body };
  }

  async images(call: UpstreamImageCall): Promise<ImageAnswer> {
    const response = call.request.image
      ? await this.#postForm('/images/edits', this.#editForm(call), call.signal)
      : await this.#post('/images/generations', this.#imageBody(call), call.signal);
    const text = new TextDecoder().decode(await readAnswer(response));
    return await collectImages(text, this.#imageLinks, call.signal);
  }

  async embed(call: UpstreamEmbeddingCall): Promise<Uint8Array> {
    const body = JSON.stringify({ ...call.request, model: call.model });
    return await readAnswer(await this.#post('/embeddings', body, call.signal));
  }

  async check(signal: AbortSignal): Promise<UpstreamHealth> {
    const startedAt = performance.now();
    const response = await this.#send('/models', { method: 'GET', signal });
    await response.body?.cancel();
    return {
      ok: true,
      detail: 'reachable, key accepted',
      latencyMs: Math.round(performance.now() - startedAt),
    };
  }

  #chatBody(call: UpstreamChatCall): string {
    const { model, request } = call;
    const body: Record<string, unknown> = { ...request, model };
    const { capField } = this.#forms.of(call);
    if (capField !== undefined) {
      // JSON leaves `undefined` out, and setting it is cheaper than copying the object without the field.
      body['max_tokens'] = undefined;
      body['max_completion_tokens'] = undefined;
      body[capField] = request.max_completion_tokens ?? request.max_tokens;
    }
    if (request.stream === true && this.#asksForUsage) {
      body['stream_options'] = { ...request.stream_options, include_usage: true };
    }
    return JSON.stringify(body);
  }

  #imageBody(call: UpstreamImageCall): string {
    const { image: _, mask: __, ...rest } = call.request;
    return JSON.stringify({ ...rest, ...this.#imageFields(call, 'b64_json') });
  }

  /**
   * The client gets its images in the format it wants either way, so the backend is asked for the one without a link.
   */
  #imageFields(call: UpstreamImageCall, usual: ImageFormat) {
    const { imageFormat = usual } = this.#forms.of(call);
    const response_format = imageFormat === 'default' ? undefined : imageFormat;
    return { model: call.model, size: call.size, response_format, ...NOT_STREAMED };
  }

  #editForm(call: UpstreamImageCall): FormData {
    const form = new FormData();
    const { image, mask, ...fields } = call.request;
    // Most models that edit do not accept the field.
    for (const [key, value] of Object.entries({ ...fields, ...this.#imageFields(call, 'default') })) {
      if (value !== undefined) form.set(key, String(value));
    }
    for (const one of image ?? [])
      form.append(image?.length === 1 ? 'image' : 'image[]', asFile(one), 'image.png');
    if (mask) form.set('mask', asFile(mask), 'mask.png');
    return form;
  }

  async #post(path: string, body: string, signal: AbortSignal): Promise<Response> {
    return await this.#send(path, { method: 'POST', body, signal });
  }

  async #postForm(path: string, body: FormData, signal: AbortSignal): Promise<Response> {
    const headers = new Headers(this.#headers);
    headers.delete('content-type');
    return await this.#send(path, { method: 'POST', body, signal, headers });
  }

  /** A redirect is an error: following it would send the key to another server. */
  async #send(path: string, init: RequestInit & { signal: AbortSignal }): Promise<Response> {
    const options: BunFetchRequestInit = {
      headers: this.#headers,
      ...init,
      redirect: 'manual',
      decompress: false,
      timeout: false,
    };
    let response: Response;
    try {
      response = await fetch(this.#base + path, options);
    } catch (cause) {
      throw connectionFailure(cause);
    }
    if (!response.ok) throw await failureOf(response);
    if (response.headers.has('content-encoding')) await refuseEncoded(response);
    return response;
  }
}

/** Images are read whole: an answer in events would look like a backend that fails. */
const NOT_STREAMED = { stream: undefined, partial_images: undefined };

function asFile(image: NonNullable<ImageRequest['image']>[number]): Blob {
  return new Blob([image.bytes], { type: image.mime });
}

function readAnswer(response: Response): Promise<Uint8Array> {
  return readBounded(response, MAX_ANSWER_BYTES, answerTooLarge);
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
  readonly #usual: (model: string) => RequestForm;

  constructor(options: ReadonlyMap<string, string>) {
    const ofUpstream: RequestForm = {
      capField: oneOf<CapField>(CAP_FIELDS, options.get('cap_field')),
      imageFormat: oneOf<ImageFormat>(IMAGE_FORMATS, options.get('image_format')),
    };
    this.#usual = remembered((model) => mergeForms(ofUpstream, formOfName(model)), MAX_CACHED);
  }

  of({ model, form }: { readonly model: string; readonly form?: RequestForm | undefined }): RequestForm {
    const usual = this.#usual(model);
    return form ? mergeForms(form, usual) : usual;
  }
}

function mergeForms(first: RequestForm, then: RequestForm): RequestForm {
  return {
    capField: first.capField ?? then.capField,
    imageFormat: first.imageFormat ?? then.imageFormat,
  };
}

/** The catalog refuses other values. */
function oneOf<Value extends string>(values: readonly Value[], text: string | undefined): Value | undefined {
  return values.find((value) => value === text);
}
