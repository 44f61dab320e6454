import { MAX_BALANCE, nanoUsd, type NanoUsd } from '../std/money.ts';
import {
  BESIDE_ROWS,
  FACTOR_ONE,
  MILLION,
  ROWS,
  TOKEN_ROWS,
  type AskedCountName,
  type AskedPriceName,
  type ExtraImagePrices,
  type ExtraTokenPrices,
  type ExtraUsageName,
  type PricedItem,
  type TokenPriceName,
  type UsageColumn,
} from '../std/price-dimensions.ts';

/** A price and a usage in all their parts. An ordinary request is computed by price.ts alone, which is faster. */

export interface TokenPrice {
  readonly kind: 'tokens';
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly extra?: ExtraTokenPrices | undefined;
  /** The price group whose price it is; absent: it is the list price. */
  readonly group?: string | undefined;
}

export interface ImagePrice {
  readonly kind: 'images';
  readonly image: NanoUsd;
  readonly extra?: ExtraImagePrices | undefined;
  readonly group?: string | undefined;
}

/** What was used. `input` includes `cached`; `output` includes `reasoning`. All are whole and not negative. */
export interface CountedUsage extends Readonly<Record<UsageColumn, number>> {
  /** Absent from an ordinary usage. */
  readonly extra?: ExtraUsage | undefined;
}

/**
 * Usage that few requests have; absent means none. `input` includes the cache writes and the audio and image input,
 * none of which is also `cached`; `output` includes the audio and image output. The pixels are those of all images.
 */
export type ExtraUsage = { readonly [Name in ExtraUsageName]?: number | undefined } & {
  /** The service tier that answered, unless it is the ordinary one. */
  readonly serviceTier?: string | undefined;
  /** The quality of the images, as the backend reports it. */
  readonly quality?: string | undefined;
};

/** What a request asks for that may cost more than plain input and output. */
export type ExtraCeiling = { readonly [Name in AskedPriceName]?: boolean | undefined } & {
  /** The most calls of a tool. */
  readonly [Name in AskedCountName]?: number | undefined;
} & { readonly serviceTier?: string | undefined };

/** One line of a bill: `quantity` × `unitPrice` ÷ `per` × `factor`. */
export interface PricedPart {
  readonly item: PricedItem;
  readonly quantity: number;
  /** Nano-USD per `per` units. */
  readonly unitPrice: number;
  readonly per: number;
  /** In millionths: of the service tier. */
  readonly factor: number;
}

/** Every part of the bill that is not zero; `input` and `output`, or `image`, are always there. */
export function pricedParts(price: TokenPrice | ImagePrice, usage: CountedUsage): PricedPart[] {
  return price.kind === 'images' ? imageParts(price, usage) : tokenParts(price, usage);
}

function imageParts(price: ImagePrice, usage: CountedUsage): PricedPart[] {
  const { megapixel, qualities } = price.extra ?? {};
  const quality = usage.extra?.quality;
  const image =
    quality !== undefined && qualities && Object.hasOwn(qualities, quality) ? qualities[quality] : undefined;
  return [
    megapixel === undefined
      ? part('image', usage.images, image ?? price.image)
      : part('megapixel', usage.extra?.pixels ?? 0, megapixel, MILLION),
    ...besideParts(price, usage),
  ];
}

function tokenParts(price: TokenPrice, usage: CountedUsage): PricedPart[] {
  const prices = pricesAt(price, usage.input);
  const factor = serviceFactor(price, usage.extra?.serviceTier);
  const quantities = tokensByKind(usage, prices);
  const lines = TOKEN_ROWS.flatMap(({ item, price: name, side }): PricedPart[] => {
    const quantity = quantities[name];
    // The two sides themselves are always there.
    return quantity === 0 && item !== side ? [] : [part(item, quantity, prices[name] ?? 0, MILLION, factor)];
  });
  return [...lines, ...besideParts(price, usage)];
}

/** Each side is what its other kinds leave of it. */
function tokensByKind(usage: CountedUsage, prices: AllTokenPrices): Record<TokenPriceName, number> {
  const left = { input: usage.input, output: usage.output };
  const quantities = { ...NO_TOKENS };
  for (const { price, side, item, isApartOnlyIfPriced, used } of PARTS_OF_SIDES) {
    if (item === side || (isApartOnlyIfPriced && prices[price] === undefined)) continue;
    const tokens = usedOf(usage, used);
    const quantity = isApartOnlyIfPriced ? Math.min(tokens, left[side]) : tokens;
    quantities[price] = quantity;
    left[side] -= quantity;
  }
  return { ...quantities, ...left };
}

/** Last come the parts of what the others leave. */
const PARTS_OF_SIDES = TOKEN_ROWS.toSorted(
  (one, other) => Number(one.isApartOnlyIfPriced ?? false) - Number(other.isApartOnlyIfPriced ?? false),
);

const NO_TOKENS = Object.fromEntries(TOKEN_ROWS.map(({ price }) => [price, 0])) as Record<
  TokenPriceName,
  number
>;

/** The names are those of the table, and so are the fields. */
function usedOf(usage: CountedUsage, name: string): number {
  const columns = usage as unknown as Readonly<Record<string, number | undefined>>;
  const extra = usage.extra as Readonly<Record<string, number | undefined>> | undefined;
  return columns[name] ?? extra?.[name] ?? 0;
}

/** What adds to tokens and images. A tool's calls are listed without a price too; pictures are part of the image then. */
function besideParts({ kind, extra = {} }: TokenPrice | ImagePrice, usage: CountedUsage): PricedPart[] {
  const prices = extra as Readonly<Record<string, number | undefined>>;
  return BESIDE_ROWS.flatMap(({ item, price: name, used, soldIn }) => {
    const unitPrice = prices[name] ?? (soldIn === 'tokens' && kind === 'tokens' ? 0 : undefined);
    if (unitPrice === undefined) return [];
    const quantity = used === undefined ? Number(unitPrice > 0) : usedOf(usage, used);
    return quantity === 0 ? [] : [part(item, quantity, unitPrice)];
  });
}

// oxlint-disable-next-line max-params -- a row of a table
function part(
  item: PricedItem,
  quantity: number,
  unitPrice: number,
  per = 1,
  factor = FACTOR_ONE,
): PricedPart {
  return { item, quantity, unitPrice, per, factor };
}

/** The price of every kind of token; absent where it is not priced apart from its side. */
type AllTokenPrices = { readonly [Name in TokenPriceName]: number | undefined };

/** The prices of a request with this many input tokens. */
function pricesAt(price: TokenPrice, inputTokens: number): AllTokenPrices {
  const tiers = (price.extra?.above ?? []).filter(({ above }) => inputTokens > above).toReversed();
  const { input, cachedInput, output } = price;
  const named = { ...price.extra, input, cachedInput, output };
  const given = (name: TokenPriceName): number | undefined =>
    tiers.find((tier) => tier[name] !== undefined)?.[name] ?? named[name];
  const sides = { input: given('input') ?? 0, output: given('output') ?? 0 };
  const prices = TOKEN_ROWS.map(({ price: name, side, quartersOfSide, isApartOnlyIfPriced }) => {
    const own = given(name);
    if (own !== undefined || quartersOfSide === undefined || isApartOnlyIfPriced) return [name, own];
    return [name, Math.ceil((sides[side] * quartersOfSide) / 4)];
  });
  return Object.fromEntries(prices) as AllTokenPrices;
}

/** In millionths. A tier without a price costs what the ordinary one does. */
function serviceFactor(price: TokenPrice, tier: string | undefined): number {
  const factors = price.extra?.serviceTiers;
  return factors && tier !== undefined && Object.hasOwn(factors, tier)
    ? (factors[tier] ?? FACTOR_ONE)
    : FACTOR_ONE;
}

/** What was used without a price of its own, by its key in the catalog: the operator should give it one. */
export function unpricedKinds(price: TokenPrice | ImagePrice, usage: CountedUsage): string[] {
  const { extra } = usage;
  if (!extra || price.kind === 'images') return [];
  const priced: Readonly<Record<string, unknown>> = { ...price.extra };
  const keys = FLAGGED_ROWS.filter(
    ({ price: name, used }) => used !== undefined && usedOf(usage, used) > 0 && priced[name] === undefined,
  ).map(({ key }): string => key);
  const { serviceTier } = extra;
  if (serviceTier !== undefined && !Object.hasOwn(price.extra?.serviceTiers ?? {}, serviceTier))
    keys.push(`service_tiers.${serviceTier}`);
  return keys;
}

/** A ratio other than one is the provider's own, and reasoning is output. */
const FLAGGED_ROWS = ROWS.filter(
  ({ soldIn, quartersOfSide, side, isInEveryPrice, isApartOnlyIfPriced }) =>
    soldIn === 'tokens' &&
    !isInEveryPrice &&
    !isApartOnlyIfPriced &&
    (quartersOfSide === 4 || side === 'beside'),
);

const MILLIONTHS = BigInt(FACTOR_ONE) * BigInt(MILLION);

export function partsCost(parts: readonly PricedPart[]): NanoUsd {
  let exact = 0n;
  for (const { quantity, unitPrice, per, factor } of parts)
    exact += BigInt(quantity) * BigInt(unitPrice) * BigInt(factor) * BigInt(MILLION / per);
  return capped((exact + MILLIONTHS - 1n) / MILLIONTHS);
}

/** The amounts that are held per million input and output tokens, of whatever kind these are. */
export interface HoldPrices {
  readonly input: number;
  readonly output: number;
  readonly fixed: NanoUsd;
}

/** The same where the price or the request has an `extra`. */
export function extraHoldPrices(
  price: TokenPrice,
  input: number,
  extra: ExtraCeiling | undefined,
): HoldPrices {
  const reachable = [0, ...(price.extra?.above ?? []).map(({ above }) => above + 1)].filter(
    (tokens) => tokens <= input,
  );
  const prices = reachable.map((tokens) => pricesAt(price, tokens));
  const factor = serviceFactor(price, extra?.serviceTier);
  const dearest = (side: 'input' | 'output'): number =>
    Math.max(...prices.flatMap((one) => reachableKinds(side, extra).map((name) => one[name] ?? 0)));
  return {
    input: scaled(dearest('input'), factor),
    output: scaled(dearest('output'), factor),
    fixed: nanoUsd(fixedCost(price, extra)),
  };
}

/** A model may think, and make an image, without being asked. */
function reachableKinds(side: 'input' | 'output', extra: ExtraCeiling = {}): TokenPriceName[] {
  const asked: Readonly<Record<string, unknown>> = extra;
  return TOKEN_ROWS.filter(
    (row) => row.side === side && (!row.isHeldIfAsked || asked[row.price] === true),
  ).map(({ price }) => price);
}

function fixedCost(price: TokenPrice, extra: ExtraCeiling = {}): number {
  const prices = (price.extra ?? {}) as Readonly<Record<string, number | undefined>>;
  const most = extra as Readonly<Record<string, number | undefined>>;
  return BESIDE_ROWS.reduce(
    (sum, { price: name, used }) => sum + (prices[name] ?? 0) * (used === undefined ? 1 : (most[used] ?? 0)),
    0,
  );
}

/** Whether the request may use something that only the backend's report tells. Of its input, the first report has it. */
export function mayNeedReport(
  price: TokenPrice | ImagePrice,
  asked: ExtraCeiling = {},
  isInputReported = false,
): boolean {
  return mayUse(price, asked, (row) => row.isOnlyReported && !(row.side === 'input' && isInputReported));
}

/** Whether its answer may have tokens of far more bytes than those of text. */
export function mayHaveLargeTokens(price: TokenPrice | ImagePrice, asked: ExtraCeiling = {}): boolean {
  return mayUse(price, asked, (row) => row.isLarge);
}

/** What was asked for may be used and, where a model does it unasked, what has a price. */
function mayUse(
  price: TokenPrice | ImagePrice,
  asked: ExtraCeiling,
  isMeant: (row: (typeof ROWS)[number]) => boolean | undefined,
): boolean {
  if (price.kind === 'images') return false;
  const named = (price.extra ?? {}) as Readonly<Record<string, unknown>>;
  const ceiling: Readonly<Record<string, unknown>> = asked;
  return ROWS.some((row) => {
    if (!isMeant(row)) return false;
    if (!row.isHeldIfAsked) return named[row.price] !== undefined;
    return ceiling[row.price] === true || Number(ceiling[row.used ?? ''] ?? 0) > 0;
  });
}

function scaled(price: number, factor: number): number {
  return factor === FACTOR_ONE
    ? price
    : Number((BigInt(price) * BigInt(factor) + BigInt(FACTOR_ONE) - 1n) / BigInt(FACTOR_ONE));
}

/** A worst case beyond any balance is as unaffordable as one just above it. */
export const MAX_COST = nanoUsd(MAX_BALANCE * 8);

export function capped(amount: bigint): NanoUsd {
  return amount > BigInt(MAX_COST) ? MAX_COST : nanoUsd(Number(amount));
}
