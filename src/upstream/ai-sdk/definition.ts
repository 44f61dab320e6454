import type { EmbeddingModelV4, ImageModelV4, JSONObject, LanguageModelV4 } from '@ai-sdk/provider';
import { usualAddress } from '../../catalog/address.ts';
import type { RequestForm, UpstreamConfig } from '../../catalog/catalog.ts';
import type { ChatRequest, ChatUsage } from '../../wire/openai/chat.ts';
import type { ImageRequest } from '../../wire/openai/images.ts';
import type { AnthropicNative } from '../port.ts';

/**
 * A provider is data: what is special about one backend, and nothing else. Shared code asks these fields and never
 * the provider's name. Nothing here may read the environment: everything comes from the operator's configuration.
 */
export interface Provider {
  readonly kind: string;
  /** Under which key the AI SDK package looks for its own options. */
  readonly namespace: string;
  /** Whether the backend fetches image addresses itself. Tollgate never fetches what a client names. */
  readonly imageUrls: boolean;
  /** A system message in mid-conversation: kept, or sent as the user's words where the backend refuses it. */
  readonly lateSystem: 'kept' | 'as_user';
  readonly logitBias: boolean;
  /** Its streams are length-prefixed frames and not lines. */
  readonly framed?: boolean;
  /** What the configuration lacks, in words for the operator; undefined when it is complete. */
  problem(config: UpstreamConfig): string | undefined;
  /** Imports its package when it is first used: together they weigh 25 MB, and most installations need one or none. */
  open(access: Access): Promise<Models>;
  /** The backend's own usage object, made canonical; undefined when it is missing or cannot be true. */
  usage(raw: unknown): ChatUsage | undefined;
  /** A cheap GET that proves address and key. */
  check(access: Access): { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Fields of a chat request that the AI SDK takes only as options of the provider. */
  requestOptions?(request: ChatRequest): JSONObject;
  /** `cache_control` on a message, part or tool, as options of the provider. */
  cacheOptions?(mark: JSONObject): JSONObject;
  /**
   * The last word on the body that goes out. The hold covers `maxTokens` and no more, and AI SDK packages add thinking
   * budgets on top of the cap, so a provider that thinks must bring its body back under it here.
   */
  fit?(body: JSONObject, limits: ProviderLimits): JSONObject;
  /** Headers that replace those of the package, for backends that sign the bytes. */
  authorize?(request: Outgoing, config: UpstreamConfig, now: Date): Promise<Record<string, string>>;
  images?: ImageSupport;
  /** The package's own name for the length of an embedding, where it does not take the standard one. */
  readonly dimensionsOption?: string;
  native?(access: Access): AnthropicNative;
}

export interface Models {
  readonly chat: (model: string) => LanguageModelV4;
  readonly image?: (model: string) => ImageModelV4;
  readonly embedding?: (model: string) => EmbeddingModelV4;
}

export interface ImageSupport {
  /** How the wanted size is said to this backend. */
  shape(size: string): ImageShape;
  options?(request: ImageRequest): JSONObject;
}

export interface ImageShape {
  readonly size?: `${number}x${number}`;
  readonly aspectRatio?: `${number}:${number}`;
}

/** The configuration as a provider needs it for one call, with the only way to the network it may use. */
export interface Access {
  readonly config: UpstreamConfig;
  readonly apiKey: string;
  readonly headers: Record<string, string>;
  readonly fetch: typeof fetch;
}

export interface ProviderLimits {
  readonly maxTokens: number | undefined;
  /** How this model is asked, where models of one API differ. */
  readonly form?: RequestForm | undefined;
  /** The conversation ends in tool results: the model is in the middle of its turn. */
  readonly midTurn: boolean;
}

export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The usual need of a provider: a key. */
export function needsKey(config: UpstreamConfig): string | undefined {
  return config.apiKey ? undefined : 'api_key is not set';
}

/** The configured address, with the usual path where only a host was given: people leave out `/v1` as often as not. */
export function baseUrl(config: UpstreamConfig, usual = usualAddress(config) ?? ''): string {
  const url = new URL(config.baseUrl ?? usual);
  if (url.pathname === '/') url.pathname = new URL(usual).pathname;
  return url.href.replace(/\/+$/, '');
}
