import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import type { Log } from '../std/log.ts';
import { nanoUsd, type NanoUsd } from '../std/money.ts';
import { ROWS, type ExtraImagePrices, type ExtraTokenPrices } from '../std/price-dimensions.ts';
import type { TokenEncoding } from '../tokenizer/port.ts';
import { sizesText, takesSize, type ImageAbilities, type SizeRange } from './image-abilities.ts';
import type { ImageDialect } from './catalog-data.ts';

/**
 * What is sold, at what price, and which backend serves it: immutable once loaded. A reload builds a new catalog and
 * replaces this one; a request keeps the one it started with.
 */
export interface Catalog {
  /** Changes whenever the content does. */
  readonly version: string;
  readonly upstreams: ReadonlyMap<string, UpstreamConfig>;
  /** The moment, by the store's clock, at which nobody knows any more that it is in force; absent: it has no such end. */
  readonly validUntil?: (() => number) | undefined;
  /** The catalog that replaces it at a moment of the store's clock. */
  readonly next?: { readonly from: number; readonly catalog: Catalog } | undefined;
  /** By code, in the order of the file. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** Other names for `code/model`, for clients that require a certain model name. */
  readonly aliases: ReadonlyMap<string, { readonly endpoint: string; readonly model: string }>;
  readonly limits: {
    readonly chatPerMinute: number;
    readonly imagesPerMinute: number;
    readonly concurrent: number;
  };
  /** Prices and visible models of each price group, by its name. */
  readonly groups?: ReadonlyMap<string, PriceGroup> | undefined;
  /** Whose view of the catalog it is: that of wallets in this price group, which it may not have. */
  readonly viewOf?: string | undefined;
  /**
   * Checked settings of the same file that are not about models, by key; read by the module that supplied the schema.
   */
  readonly settings?: ReadonlyMap<string, { readonly label: string; readonly value: unknown }> | undefined;
}

export type EndpointType = 'chat_completion' | 'image_generation' | 'embedding' | 'moderation';

export interface Endpoint {
  readonly code: string;
  readonly name: string;
  readonly type: EndpointType;
  /** In list order; the same model id appears once. */
  readonly models: readonly Model[];
  /** Tried in order; upstreams within one place share the load by weight. */
  readonly places: readonly (readonly { readonly upstream: string; readonly weight: number }[])[];
  /** By model id, where backends are sorted by what they take: in place of `places`. */
  readonly placesByModel?: ReadonlyMap<string, Endpoint['places']> | undefined;
  /** Within a place an account always gets the same backend, as long as that can serve. */
  readonly isSticky?: boolean | undefined;
  /** The backends that clients may choose by name; absent: they cannot choose. */
  readonly selectable?: ReadonlySet<string> | undefined;
  /** Why a listed endpoint cannot serve, e.g. which environment variable to set. */
  readonly unavailable?: string | undefined;
}

export interface Model {
  readonly id: string;
  readonly displayName: string;
  /** The list it comes from: the public API's `source_table`. */
  readonly list: string;
  readonly price: ModelPrice;
  readonly contextTokens: number;
  /** Nobody has said how many tokens it takes: `contextTokens` is only what is accepted. */
  readonly isContextUnknown?: true | undefined;
  readonly maxOutput: number;
  readonly isMaxOutputUnknown?: true | undefined;
  /** Image models: allowed sizes, the first is the default. */
  readonly sizes: readonly string[];
  /** Further sizes. */
  readonly sizeRange?: SizeRange | undefined;
  /** Absent: the catalog does not say what an image model takes, and its backend decides. */
  readonly abilities?: ImageAbilities | undefined;
  /** The model's name at an upstream, where it differs. */
  readonly upstreamModels: ReadonlyMap<string, string>;
  /** Absent: by the upstream's options and the model's name at the upstream. */
  readonly form?: RequestForm | undefined;
  readonly free: boolean;
  /** Its own tokenizer; absent: it has another one, or nobody knows. */
  readonly tokenizer?: TokenEncoding | undefined;
  /** The attachments that it takes, and what they cost at most. */
  readonly inputs?: ModelInputs | undefined;
  /** What it supports, for /models and the console. */
  readonly vision: boolean;
  readonly tools: boolean;
  readonly reasoning: boolean;
  /** Its reasoning is hidden, so its billed tokens cannot be counted from the answer. */
  readonly hidesReasoning: boolean;
  /** What happens to a stream whose client leaves: the backend is stopped, or comes to its end. */
  readonly onDisconnect: OnDisconnect;
  /** A request that may use what only the backend's report tells is finished although its client left. */
  readonly finishesForReport: boolean;
  /** What each upstream charges for it, where that is known. */
  readonly costs: ReadonlyMap<string, ModelPrice>;
}

/** Tokens that attachments take at most. What is absent is not taken. */
export interface ModelInputs {
  readonly image?: { readonly maxTokens: number } | undefined;
  readonly audio?: { readonly tokensPerSecond: number } | undefined;
  readonly file?: { readonly maxTokens: number } | undefined;
}

export const ON_DISCONNECT = ['stop', 'finish'] as const;
export type OnDisconnect = (typeof ON_DISCONNECT)[number];

/** The two names of the output cap in chat requests. */
export const CAP_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;
export type CapField = (typeof CAP_FIELDS)[number];

/** The `response_format` in image requests; `default`: the field is not sent. */
export const IMAGE_FORMATS = ['b64_json', 'default'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

/** How a request is written for a backend, where models of one API differ. */
export interface RequestForm {
  /** Absent: the name the client used. */
  readonly capField?: CapField | undefined;
  readonly imageFormat?: ImageFormat | undefined;
}

/** Tokens: nano-USD per million. Images: nano-USD per image, by size, with a price for sizes not named. */
export type ModelPrice =
  | TokenModelPrice
  | {
      readonly kind: 'images';
      /** The price by size; where it depends on the quality too, that of an image without a named quality. */
      readonly bySize: ReadonlyMap<string, NanoUsd>;
      readonly otherwise: NanoUsd | undefined;
      /** By size, or `default`, and quality. */
      readonly qualities?: ReadonlyMap<string, Readonly<Record<string, NanoUsd>>> | undefined;
      readonly extra?: ExtraImagePrices | undefined;
      readonly group?: string | undefined;
    };

export interface TokenModelPrice {
  readonly kind: 'tokens';
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly extra?: ExtraTokenPrices | undefined;
  /** The price group that it is for. */
  readonly group?: string | undefined;
}

/** What the ledger copies into a hold. Token prices are nano-USD per million tokens. */
export type PriceSnapshot =
  | TokenModelPrice
  | {
      readonly kind: 'images';
      readonly image: NanoUsd;
      readonly extra?: ExtraImagePrices | undefined;
      readonly group?: string | undefined;
    };

/** The prices of some wallets, and the models that these do not see. */
export interface PriceGroup {
  /** In millionths; applies to every price that the group does not set itself. */
  readonly factor: number;
  /** Patterns of `endpoint/model`. */
  readonly hide: readonly string[];
  /** The prices that it sets itself, in nano-USD, by `code/model`. */
  readonly own: ReadonlyMap<
    string,
    { readonly input?: number | undefined; readonly output?: number | undefined }
  >;
  priceOf(endpoint: string, model: Model): ModelPrice;
}

export interface UpstreamConfig {
  readonly name: string;
  readonly kind: string;
  readonly baseUrl: string | undefined;
  /** Resolved from `${ENV}`; never printed. */
  readonly apiKey: string | undefined;
  /** Where there are several: they share the load, and each rests alone. `apiKey` is the first of them. */
  readonly apiKeys?: readonly string[] | undefined;
  readonly headers: ReadonlyMap<string, string>;
  /** First byte, silence within a stream, and the whole call. */
  readonly timeouts: { readonly firstByteMs: number; readonly idleMs: number; readonly totalMs: number };
  /** Other settings of a kind, checked by the kind itself (region, api version, model path). */
  readonly options: ReadonlyMap<string, string>;
  /** It is sent Messages requests as the client wrote them. */
  readonly speaksMessages?: boolean | undefined;
  /** Request fields that it refuses or ignores, by its preset: a request with one of them is refused here. */
  readonly unsupportedFields?: readonly string[] | undefined;
  /** The largest output cap that it takes of a request that is not a stream, by its preset. */
  readonly wholeCap?: number | undefined;
  /** Absent: it takes requests for images as OpenAI does. */
  readonly images?: ImageDialect | undefined;
  /** False: it has no list of models, by its preset. */
  readonly listsModels?: boolean | undefined;
  readonly preset?: string | undefined;
  /** For imports of its models: the factor of the list prices, in millionths. */
  readonly markup?: number | undefined;
  /** Further request fields that it gets as the client wrote them. */
  readonly passFields?: ReadonlySet<string> | undefined;
  /** It rests for the day once it has cost this much, in nano-USD. */
  readonly dailyCostLimit?: NanoUsd | undefined;
  /** It gets no new requests; those that it has end as they would. */
  readonly paused?: true | undefined;
  /** Why it must not be called: its key belongs to another server, and is not contained here then. */
  readonly problem?: string | undefined;
}

/** Where the catalog comes from: the operator's file, or the store. */
export interface CatalogSource {
  /** Works without `this`: code that reads the catalog for every request gets only this function. */
  readonly current: () => Catalog;
  /** Called after each successful change; returns a function that stops it. */
  onChange(listener: (catalog: Catalog) => void): () => void;
  status(): CatalogStatus;
  /** For whoever shows prices: what is in force at this moment, also when that has just changed. */
  inForce(): Promise<Catalog>;
  /** Looks for newer content now; content that cannot be used is refused as usual. */
  refresh(): Promise<void>;
  close(): void;
}

export interface CatalogStatus {
  readonly kind: 'file' | 'store';
  readonly path: string | undefined;
  readonly loadedAt: number;
  /** Why the newest content was refused; the previous one is still in force. */
  readonly error: string | undefined;
}

export interface Route {
  readonly endpoint: Endpoint;
  readonly model: Model;
  /** False: the client wants no other backend if the first one cannot serve. */
  readonly hasFallbacks?: boolean | undefined;
  /** The end of its price, as it was known when it was looked up. The ledger refuses it from then on. */
  readonly validUntil: number | undefined;
  /** The price group of the wallets that it was looked up for. The ledger refuses wallets of another one. */
  readonly priceGroup: string | undefined;
}

/** Where the model of a route is served, place by place. */
export function placesFor({ endpoint, model }: Pick<Route, 'endpoint' | 'model'>): Endpoint['places'] {
  return endpoint.placesByModel?.get(model.id) ?? endpoint.places;
}

/** Finds what a request asked for, or throws the documented error. */
export function resolve(
  catalog: Catalog,
  wanted: { code: string; model: string; type: EndpointType },
): Route {
  const endpoint = catalog.endpoints.get(wanted.code);
  if (!endpoint)
    throw new Fault('unknown_endpoint', `There is no endpoint '${wanted.code}'.`, { param: 'endpoint' });
  if (endpoint.type !== wanted.type) {
    throw new Fault(
      'unsupported_endpoint',
      `Endpoint '${endpoint.code}' does not do ${KINDS[wanted.type]}.`,
      { param: 'endpoint' },
    );
  }
  if (endpoint.unavailable)
    throw new Fault('unsupported_endpoint', endpoint.unavailable, { param: 'endpoint' });
  const model = modelsById(endpoint).get(wanted.model);
  if (!model) {
    throw new Fault('unsupported_model', `Endpoint '${endpoint.code}' has no model '${wanted.model}'.`, {
      param: 'model',
    });
  }
  return { endpoint, model, validUntil: catalog.validUntil?.(), priceGroup: catalog.viewOf };
}

const byId = new WeakMap<Endpoint, ReadonlyMap<string, Model>>();

/** Made on first use: an endpoint never changes, a changed catalog has new ones. */
export function modelsById(endpoint: Endpoint): ReadonlyMap<string, Model> {
  const known = byId.get(endpoint);
  if (known) return known;
  const models = new Map(endpoint.models.map((model) => [model.id, model]));
  byId.set(endpoint, models);
  return models;
}

const KINDS: Record<EndpointType, string> = {
  chat_completion: 'chat completions',
  image_generation: 'image generation',
  embedding: 'embeddings',
  moderation: 'moderation',
};

/** Which image is meant; by default one in the model's first size, of a quality that the backend chooses. */
export interface WantedImage {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
}

/** The price of one request; for images, of one image. */
export function priceFor(model: Model, { size = model.sizes[0], quality }: WantedImage = {}): PriceSnapshot {
  if (model.price.kind === 'tokens') return model.price;
  const price =
    size !== undefined && takesSize(model, size) ? imageSnapshot(model.price, { size, quality }) : undefined;
  if (price === undefined)
    throw new Fault('invalid_field', `size must be ${sizesText(model)}.`, { param: 'size' });
  return price;
}

/** The price that an upstream charges, if the catalog names it. */
export function costPriceFor(
  model: Pick<Model, 'costs' | 'sizes'>,
  upstream: string,
  image: WantedImage = {},
): PriceSnapshot | undefined {
  const price = model.costs.get(upstream);
  if (price?.kind !== 'images') return price;
  return imageSnapshot(price, { size: image.size ?? model.sizes[0] ?? '', quality: image.quality });
}

function imageSnapshot(
  price: ModelPrice & { kind: 'images' },
  { size, quality }: { size: string; quality: string | undefined },
): PriceSnapshot | undefined {
  const { bySize, otherwise, extra, group } = price;
  const image = bySize.get(size) ?? otherwise;
  if (image === undefined) return undefined;
  const qualities =
    price.qualities?.get(size) ?? (bySize.has(size) ? undefined : price.qualities?.get('default'));
  const beside = { ...(extra && { extra }), ...(group !== undefined && { group }) };
  if (!qualities) return { kind: 'images', image, ...beside };
  if (quality === undefined || quality === 'auto')
    return { kind: 'images', image, ...beside, extra: { ...extra, qualities } };
  if (!Object.hasOwn(qualities, quality)) {
    const known = Object.keys(qualities).join(', ');
    throw new Fault('invalid_field', `quality must be one of ${known}.`, { param: 'quality' });
  }
  return { kind: 'images', image: nanoUsd(qualities[quality] ?? image), ...beside };
}

/**
 * Whether a model has a price for something that costs extra: a dimension by its name in the file, such as
 * `service_tiers.flex` or `tool_calls.web_search`.
 */
export function hasPriceFor({ price, free, abilities }: Model, dimension: string): boolean {
  const row = ROWS.find(({ key }) => key === dimension);
  if (row?.item === 'partial_image' && abilities?.partialImages === 0) return false;
  const named = row && (price.extra as Readonly<Record<string, unknown>> | undefined)?.[row.price];
  if (named !== undefined) return true;
  const dot = dimension.indexOf('.');
  const [name, key] = dot < 0 ? [dimension, ''] : [dimension.slice(0, dot), dimension.slice(dot + 1)];
  if (price.kind === 'images') {
    const qualities = [...(price.qualities?.values() ?? [])];
    return row?.item === 'partial_image'
      ? free
      : name === 'image' && qualities.some((prices) => Object.hasOwn(prices, key));
  }
  if (name === 'service_tiers') return Object.hasOwn(price.extra?.serviceTiers ?? {}, key);
  // An image model that is sold by tokens: better images take more of them.
  return name === 'image' || row?.soldIn === 'images' || row?.item === 'image_input';
}

/** The catalog in force and its listeners. Used by both sources, the file and the store. */
export class LiveCatalog {
  readonly #place: { readonly kind: CatalogStatus['kind']; readonly path: string | undefined };
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #listeners = new Set<(catalog: Catalog) => void>();
  #catalog: Catalog;
  #loadedAt: number;
  #error: string | undefined;

  constructor(
    first: Catalog,
    parts: { kind: CatalogStatus['kind']; path: string | undefined; log: Log; clock: Clock },
  ) {
    this.#place = { kind: parts.kind, path: parts.path };
    this.#log = parts.log;
    this.#clock = parts.clock;
    this.#catalog = first;
    this.#loadedAt = parts.clock.now();
  }

  readonly current = (): Catalog => this.#catalog;

  onChange(listener: (catalog: Catalog) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  status(): CatalogStatus {
    return { ...this.#place, loadedAt: this.#loadedAt, error: this.#error };
  }

  replace(next: Catalog): void {
    const source = this.#place.path ?? this.#place.kind;
    if (this.#error !== undefined) this.#log.info('catalog_recovered', { source });
    this.#error = undefined;
    this.#loadedAt = this.#clock.now();
    if (next.version === this.#catalog.version) return;
    this.#catalog = next;
    this.#log.info('catalog_loaded', { version: next.version, source });
    for (const listener of this.#listeners) this.#notify(listener, next);
  }

  /** The newest content cannot be used: the previous catalog stays in force. */
  refuse(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason === this.#error) return;
    this.#error = reason;
    this.#log.warn('catalog_refused', { source: this.#place.path ?? this.#place.kind, reason });
  }

  /** One listener's failure must not keep the others on the old prices. */
  #notify(listener: (catalog: Catalog) => void, catalog: Catalog): void {
    try {
      listener(catalog);
    } catch (error) {
      this.#log.error('catalog_listener_failed', { error });
    }
  }
}
