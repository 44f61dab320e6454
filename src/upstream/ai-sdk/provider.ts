import type {
  EmbeddingModelV4,
  ImageModelV4,
  JSONObject,
  LanguageModelV4,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { defaultAddress } from '../../catalog/address.ts';
import type { RequestForm, UpstreamConfig } from '../../catalog/catalog.ts';
import type { ChatRequest, ChatUsage } from '../../wire/openai/chat.ts';
import type { ImageRequest } from '../../wire/openai/images.ts';
import type { WantedShape } from '../aspect-ratio.ts';
import type { AnthropicNative } from '../port.ts';
import { isObject } from './json.ts';

/**
 * A provider is data: only what is special about one backend. Shared code reads these fields and never compares the
 * provider's name. Nothing here may read the environment: everything comes from the operator's configuration.
 */
export interface Provider {
  readonly kind: string;
  /** The key under which the AI SDK package expects its own options. */
  readonly namespace: string;
  /** Whether the backend fetches image URLs itself. Tollgate never fetches a URL that a client sends. */
  readonly imageUrls: boolean;
  /** A system message in mid-conversation: kept, or sent as a user message where the backend refuses it. */
  readonly lateSystem: 'kept' | 'as_user';
  readonly logitBias: boolean;
  /** It refuses calls and results of tools in a conversation that offers none; they become text then. */
  readonly toolHistoryNeedsTools?: true;
  /** False where the backend has no JSON without a schema, and its package would silently leave the wish out. */
  readonly jsonObject?: boolean;
  /** Its streams are length-prefixed frames instead of lines. */
  readonly framed?: boolean;
  /** What the configuration lacks, explained to the operator; undefined if it is complete. */
  problem(config: UpstreamConfig): string | undefined;
  /** Imports its package on first use: together they take 25 MB, and most installations need one or none. */
  open(access: ProviderAccess): Promise<ProviderModels>;
  /** The backend's usage object in canonical form; undefined if it is missing or cannot be true. */
  usage(raw: unknown): ChatUsage | undefined;
  /** The same from an event of a stream that reports before its end: a client may leave after it, or the backend break off. */
  readonly earlyUsage?: (event: unknown) => ChatUsage | undefined;
  /** A cheap GET that verifies address and key. */
  check(access: ProviderAccess): { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Fields of a chat request that the AI SDK accepts only as provider options. */
  requestOptions?(request: ChatRequest): JSONObject;
  /** `cache_control` of a message, part or tool as provider options. */
  cacheOptions?(mark: JSONObject): JSONObject;
  /**
   * The final change to the request body. The hold covers only `maxTokens`, and AI SDK packages add thinking budgets on
   * top of the cap, so a provider that supports thinking must bring its body back under the cap here.
   */
  fit?(body: JSONObject, limits: ProviderLimits): JSONObject;
  /** Headers that replace those of the package, for backends that sign the bytes. */
  authorize?(request: OutgoingRequest, config: UpstreamConfig, now: Date): Promise<Record<string, string>>;
  images?: ImageSupport;
  /** The package's own name for the length of an embedding, if it does not accept the standard one. */
  readonly dimensionsOption?: string;
  native?(access: ProviderAccess): AnthropicNative;
}

interface ProviderModels {
  readonly chat: (model: string) => LanguageModelV4;
  readonly image?: (model: string) => ImageModelV4;
  readonly embedding?: (model: string) => EmbeddingModelV4;
}

export interface ImageSupport {
  /** The requested size as this backend expects it. */
  shape(wanted: WantedShape): ImageShape;
  options?(request: ImageRequest): JSONObject;
  /** False: a mask is refused here; the package's own refusal would not reach the client. */
  readonly takesMask?: false;
}

interface ImageShape {
  readonly size?: `${number}x${number}`;
  readonly aspectRatio?: `${number}:${number}`;
}

/** The configuration that a provider needs for one call, with the only access to the network that it may use. */
export interface ProviderAccess {
  readonly config: UpstreamConfig;
  readonly apiKey: string;
  readonly headers: Record<string, string>;
  readonly fetch: typeof fetch;
}

export interface ProviderLimits {
  readonly maxTokens: number | undefined;
  /** How requests for this model are written, where models of one API differ. */
  readonly form?: RequestForm | undefined;
  /** The conversation ends in tool results, so the model is in the middle of its turn. */
  readonly midTurn: boolean;
}

export interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Requires a key, as most providers do. */
export function needsKey(config: UpstreamConfig): string | undefined {
  return config.apiKey ? undefined : 'api_key is not set';
}

/** The configured address, with the usual path if only a host was given: `/v1` is often left out. */
export function baseUrl(config: UpstreamConfig, usual = defaultAddress(config) ?? ''): string {
  const url = new URL(config.baseUrl ?? usual);
  if (url.pathname === '/') url.pathname = new URL(usual).pathname;
  return url.href.replace(/\/+$/, '');
}

/** OpenAI's `strict` of a JSON schema: packages have their own defaults, the canonical form's is false. */
export function strictSchema({ response_format }: ChatRequest): { strictJsonSchema?: boolean } {
  if (!isObject(response_format) || !isObject(response_format.json_schema)) return {};
  return { strictJsonSchema: response_format.json_schema.strict === true };
}

/** `cache_control`, which several clients send in the OpenAI dialect too, for providers that support it. */
export function cacheControlOptions(
  marked: { readonly [key: string]: unknown },
  provider: Provider,
): CacheControlOptions {
  const mark = marked.cache_control;
  if (!isObject(mark) || !provider.cacheOptions) return {};
  return { providerOptions: { [provider.namespace]: provider.cacheOptions(mark) } };
}

export interface CacheControlOptions {
  providerOptions?: SharedV4ProviderOptions;
}
