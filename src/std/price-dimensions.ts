import type { NanoUsd } from './money.ts';

/** A factor of 1. */
export const FACTOR_ONE = 1_000_000;
export const MILLION = 1_000_000 as const;
/** 10,000 USD per million tokens: a larger one has a misplaced decimal point, and sums stay exact below it. */
export const MAX_TOKEN_PRICE = 10_000_000_000_000;

/** Something that a request can be charged for. */
interface Dimension {
  /** Its line of a bill. */
  readonly item: string;
  /** Its key in the catalog's file. */
  readonly key: string;
  /** Its name in a price that is stored. */
  readonly price: string;
  /** Its name in a usage that is stored; `undefined`: each request is one. */
  readonly used: string | undefined;
  /** Tokens and pixels are priced by the million. */
  readonly unit: 'token' | 'pixel' | 'each';
  /** The kind of price that it is part of. */
  readonly soldIn: 'tokens' | 'images' | 'both';
  /** The tokens that it is part of; `beside`: it adds to them. */
  readonly side: 'input' | 'output' | 'beside';
  /** What it is, for whoever writes a catalog. */
  readonly means: string;
  /** Every price of its kind has it. Others are in the price's `extra`. */
  readonly isInEveryPrice?: true;
  /** The stores have a column for its usage. Others are in the usage's `extra`. */
  readonly hasColumn?: true;
  /** Without a price of its own: so many quarters of the price of its side, rounded up. */
  readonly quartersOfSide?: number;
  /** Without a price of its own it has no line of its own either. */
  readonly isApartOnlyIfPriced?: true;
  /** Held only where the request asks for it. */
  readonly isHeldIfAsked?: true;
  /** Where the backend's usage in the form of OpenAI's chat says how many they were. */
  readonly reportedIn?: readonly [details: string, name: string];
  /**
   * Nothing but the backend's report tells how much of it was used; of an input, its first report. A stream that may use it
   * comes to its end although its client left. Everything else is counted from what a stream shows on its way.
   */
  readonly isOnlyReported?: true;
  /** A token of it has far more bytes than one of text. */
  readonly isLarge?: true;
  /** A client that has some of it has something to pay for, although there are no tokens and no images. */
  readonly countsAsDelivered?: true;
}

/** In the order of a bill. Schema, hold, bill, receipt, exports and checks follow from this table. */
const DIMENSIONS = [
  {
    item: 'input',
    key: 'input',
    price: 'input',
    used: 'input',
    unit: 'token',
    soldIn: 'tokens',
    side: 'input',
    means: 'input tokens',
    isInEveryPrice: true,
    hasColumn: true,
  },
  {
    item: 'cached_input',
    key: 'cached_input',
    price: 'cachedInput',
    used: 'cached',
    unit: 'token',
    soldIn: 'tokens',
    side: 'input',
    means: 'input tokens read from a cache',
    isInEveryPrice: true,
    hasColumn: true,
    quartersOfSide: 4,
  },
  {
    item: 'cache_write',
    key: 'cache_write',
    price: 'cacheWrite',
    used: 'cacheWrite',
    unit: 'token',
    soldIn: 'tokens',
    side: 'input',
    means: 'input tokens written to a cache for five minutes',
    // Anthropic's own ratio, as the next one.
    quartersOfSide: 5,
    isHeldIfAsked: true,
    // OpenRouter's name; the one for an hour is ours, for Anthropic's usage in this form.
    reportedIn: ['prompt_tokens_details', 'cache_write_tokens'],
    isOnlyReported: true,
  },
  {
    item: 'cache_write_1h',
    key: 'cache_write_1h',
    price: 'cacheWrite1h',
    used: 'cacheWrite1h',
    unit: 'token',
    soldIn: 'tokens',
    side: 'input',
    means: 'input tokens written to a cache for an hour',
    quartersOfSide: 8,
    isHeldIfAsked: true,
    reportedIn: ['prompt_tokens_details', 'cache_write_1h_tokens'],
    isOnlyReported: true,
  },
  {
    item: 'audio_input',
    key: 'audio_input',
    price: 'audioInput',
    used: 'audioInput',
    unit: 'token',
    soldIn: 'tokens',
    side: 'input',
    means: 'audio tokens of the input',
    quartersOfSide: 4,
    isHeldIfAsked: true,
    reportedIn: ['prompt_tokens_details', 'audio_tokens'],
    isOnlyReported: true,
  },
  {
    item: 'image_input',
    key: 'image_input',
    price: 'imageInput',
    used: 'imageInput',
    unit: 'token',
    soldIn: 'tokens',
    side: 'input',
    means: 'image tokens of the input',
    quartersOfSide: 4,
    isHeldIfAsked: true,
    reportedIn: ['prompt_tokens_details', 'image_tokens'],
    isOnlyReported: true,
  },
  {
    item: 'output',
    key: 'output',
    price: 'output',
    used: 'output',
    unit: 'token',
    soldIn: 'tokens',
    side: 'output',
    means: 'output tokens (0 for embedding models)',
    isInEveryPrice: true,
    hasColumn: true,
  },
  {
    item: 'reasoning',
    key: 'reasoning',
    price: 'reasoning',
    used: 'reasoning',
    unit: 'token',
    soldIn: 'tokens',
    side: 'output',
    means: 'reasoning tokens',
    hasColumn: true,
    quartersOfSide: 4,
    isApartOnlyIfPriced: true,
  },
  {
    item: 'audio_output',
    key: 'audio_output',
    price: 'audioOutput',
    used: 'audioOutput',
    unit: 'token',
    soldIn: 'tokens',
    side: 'output',
    means: 'audio tokens of the output',
    quartersOfSide: 4,
    isHeldIfAsked: true,
    reportedIn: ['completion_tokens_details', 'audio_tokens'],
    isOnlyReported: true,
    isLarge: true,
  },
  {
    item: 'image_output',
    key: 'image_output',
    price: 'imageOutput',
    used: 'imageOutput',
    unit: 'token',
    soldIn: 'tokens',
    side: 'output',
    means: 'image tokens of the output',
    quartersOfSide: 4,
    reportedIn: ['completion_tokens_details', 'image_tokens'],
    isOnlyReported: true,
    isLarge: true,
  },
  {
    item: 'web_search',
    key: 'tool_calls.web_search',
    price: 'webSearch',
    used: 'webSearches',
    unit: 'each',
    soldIn: 'tokens',
    side: 'beside',
    means: 'web search',
    isHeldIfAsked: true,
    reportedIn: ['server_tool_use', 'web_search_requests'],
    // What a search finds is input, and the last report has it.
    isOnlyReported: true,
  },
  {
    item: 'image',
    key: 'image',
    price: 'image',
    used: 'images',
    unit: 'each',
    soldIn: 'images',
    side: 'beside',
    means: 'image',
    isInEveryPrice: true,
    hasColumn: true,
  },
  {
    item: 'megapixel',
    key: 'image.per_megapixel',
    price: 'megapixel',
    used: 'pixels',
    unit: 'pixel',
    soldIn: 'images',
    side: 'beside',
    means: 'pixels of the images',
  },
  {
    item: 'input_image',
    key: 'input_image',
    price: 'inputImage',
    used: 'inputImages',
    unit: 'each',
    soldIn: 'images',
    side: 'beside',
    means: 'picture that an edit starts from, beside the price of the image',
  },
  {
    item: 'partial_image',
    key: 'partial_image',
    price: 'partialImage',
    used: 'partialImages',
    unit: 'each',
    soldIn: 'images',
    side: 'beside',
    means: 'picture that a stream shows before the image is finished, beside the price of the image',
    countsAsDelivered: true,
  },
  {
    item: 'request',
    key: 'request',
    price: 'request',
    used: undefined,
    unit: 'each',
    soldIn: 'both',
    side: 'beside',
    means: 'request, beside everything else',
  },
] as const satisfies readonly Dimension[];

type Row = (typeof DIMENSIONS)[number];

export type PricedItem = Row['item'];

/** The same rows, for code that treats them all alike. */
export const ROWS: readonly (Dimension & Pick<Row, 'item' | 'key' | 'price' | 'used'>)[] = DIMENSIONS;

/** Dimensions that add to the price of tokens or images, each by its count. */
export const BESIDE_ROWS = ROWS.filter(({ unit, isInEveryPrice }) => unit === 'each' && !isInEveryPrice);

export const PRICED_ITEMS: readonly PricedItem[] = DIMENSIONS.map(({ item }) => item);

export type TokenRow = Extract<Row, { unit: 'token' }>;

function isTokenRow(row: Row): row is TokenRow {
  return row.unit === 'token';
}

export const TOKEN_ROWS: readonly (TokenRow & Dimension)[] = DIMENSIONS.filter(isTokenRow);

/** Nano-USD per million tokens of every kind. */
export type TokenPriceName = TokenRow['price'];

type RareTokenRow = Exclude<TokenRow, { isInEveryPrice: true }>;

/** Prices per million tokens that few models have, in nano-USD. What is absent follows from `input` and `output`. */
type RareTokenPrices = { readonly [One in RareTokenRow as One['price']]?: number | undefined };

/** Prices of all tokens of a request whose input has more than `above` tokens. What is absent stays as it is below. */
export type LongInputPrices = { readonly above: number } & {
  readonly [Name in TokenPriceName]?: number | undefined;
};

type BesideRow<Kind> = Exclude<
  Extract<Row, { side: 'beside'; soldIn: Kind | 'both' }>,
  { isInEveryPrice: true }
>;

export type ExtraTokenPrices = RareTokenPrices & {
  readonly [One in BesideRow<'tokens'> as One['price']]?: NanoUsd | undefined;
} & {
  /** In ascending order. */
  readonly above?: readonly LongInputPrices[] | undefined;
  /** Factors of the token prices in millionths, by the tier's name. */
  readonly serviceTiers?: Readonly<Record<string, number>> | undefined;
};

/** With a price by the million pixels, an image has none of its own. */
export type ExtraImagePrices = {
  readonly [One in BesideRow<'images'> as One['price']]?:
    | (One['unit'] extends 'each' ? NanoUsd : number)
    | undefined;
} & {
  /** The price of one image by the quality that the backend reports; only where the request asked for none. */
  readonly qualities?: Readonly<Record<string, NanoUsd>> | undefined;
};

type CountedRow = Extract<Row, { used: string }>;

/** The names of a usage that the stores have columns for. */
export type UsageColumn = Extract<CountedRow, { hasColumn: true }>['used'];

/** Usages that are stored as text beside the columns. */
export type ExtraUsageName = Exclude<CountedRow['used'], UsageColumn>;

export const EXTRA_USAGE_ROWS = DIMENSIONS.filter(isExtraUsage);

function isExtraUsage(row: Row): row is Exclude<CountedRow, { hasColumn: true }> {
  return row.used !== undefined && !('hasColumn' in row);
}

/** Options of a request that raise the price of its tokens. */
export type AskedPriceName = Extract<TokenRow, { isHeldIfAsked: true }>['price'];

/** Usages that may occur as often as the request allows. */
export type AskedCountName = Extract<Exclude<Row, TokenRow>, { isHeldIfAsked: true }>['used'];
