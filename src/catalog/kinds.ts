import { CAP_FIELDS, IMAGE_FORMATS } from './catalog.ts';

/**
 * The kinds of backend that a catalog may name, and what each needs, as data: a wrong upstream is found when the
 * catalog is read, not when the first request fails.
 */
export interface UpstreamKind {
  readonly about: string;
  /** At least one of each row must be given: `api_key`, `base_url`, `options.<name>`. */
  readonly needs: readonly (readonly string[])[];
  /** A kind without an address or a key of its own refuses them, so that a mix-up is noticed. */
  readonly remote: boolean;
  readonly options: readonly string[];
  /** Options with a fixed set of values: a mistyped one would be noticed only when the backend refuses requests. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  /** Requests reach it in a dialect of clients, so that further fields of them can be passed on. */
  readonly passesFields?: true;
  /** It is sent Messages requests as the client wrote them. */
  readonly speaksMessages?: true;
  /** The default address without a `base_url`; `{name}` is replaced by an option. */
  readonly address?: string;
}

const REQUEST_FORM = { cap_field: CAP_FIELDS, image_format: IMAGE_FORMATS };

export const UPSTREAM_KINDS = {
  openai: {
    about: 'any server that speaks the OpenAI API',
    needs: [['base_url']],
    remote: true,
    options: ['cap_field', 'stream_usage', 'image_format', 'image_path'],
    choices: REQUEST_FORM,
    passesFields: true,
  },
  anthropic: {
    about: "Anthropic's Messages API",
    needs: [['api_key']],
    remote: true,
    options: [],
    passesFields: true,
    speaksMessages: true,
    address: 'https://api.anthropic.com/v1',
  },
  google: {
    about: "Google's Gemini API",
    needs: [['api_key']],
    remote: true,
    options: [],
    address: 'https://generativelanguage.googleapis.com/v1beta',
  },
  mistral: {
    about: "Mistral's API",
    needs: [['api_key']],
    remote: true,
    options: [],
    address: 'https://api.mistral.ai/v1',
  },
  cohere: {
    about: "Cohere's API",
    needs: [['api_key']],
    remote: true,
    options: [],
    address: 'https://api.cohere.com/v2',
  },
  azure: {
    about: 'Azure OpenAI',
    needs: [['api_key'], ['base_url', 'options.resource']],
    remote: true,
    options: ['resource', 'api_version', 'deployment_urls', 'cap_field', 'image_format'],
    choices: REQUEST_FORM,
    address: 'https://{resource}.openai.azure.com',
  },
  bedrock: {
    about: 'Amazon Bedrock',
    needs: [
      ['options.region', 'base_url'],
      ['api_key', 'options.access_key_id'],
    ],
    remote: true,
    options: ['region', 'access_key_id', 'secret_access_key', 'session_token'],
    address: 'https://bedrock-runtime.{region}.amazonaws.com',
  },
  bfl: {
    about: 'images of Black Forest Labs',
    needs: [['api_key']],
    remote: true,
    options: ['image_path'],
    address: 'https://api.bfl.ai/v1',
  },
  fal: {
    about: "images of fal's queue",
    needs: [['api_key']],
    remote: true,
    options: ['image_size', 'images_per_call', 'image_path'],
    choices: { image_size: ['dimensions', 'aspect_ratio'] },
    address: 'https://queue.fal.run',
  },
  replicate: {
    about: "images of Replicate's predictions",
    needs: [['api_key']],
    remote: true,
    options: ['image_size', 'images_per_call', 'image_path'],
    choices: { image_size: ['dimensions', 'aspect_ratio'] },
    address: 'https://api.replicate.com/v1',
  },
  stability: {
    about: "Stability AI's images",
    needs: [['api_key']],
    remote: true,
    options: [],
    address: 'https://api.stability.ai',
  },
  house: { about: 'built in, no key', needs: [], remote: false, options: [] },
  gguf: {
    about: 'a local GGUF file, run in this process',
    needs: [['options.path']],
    remote: false,
    options: ['path', 'gpu_layers', 'context_size', 'threads'],
  },
} as const satisfies Record<string, UpstreamKind>;

export type UpstreamKindName = keyof typeof UPSTREAM_KINDS;

export const UPSTREAM_KIND_NAMES = Object.keys(UPSTREAM_KINDS) as [UpstreamKindName, ...UpstreamKindName[]];
