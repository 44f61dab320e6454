import type { PricedItem } from '../../std/price-dimensions.ts';
import type { RequestItem } from '../request-row.ts';
import type { Day, EndpointKind, Millis, RequestState, SearchedPage, Usd } from './shared.ts';

export interface Overview {
  balanceUsd: Usd;
  heldUsd: Usd;
  availableUsd: Usd;
  /** The account had money at some time: an empty balance has been used up, and is not just new. */
  everFunded: boolean;
  /** What the account gets when its address is confirmed; null: nothing, or it had it. */
  welcomeUsd: Usd | null;
  /** Set when the balance is under the account's own threshold. */
  lowBalance: { thresholdUsd: Usd } | null;
  spend: { todayUsd: Usd; days7Usd: Usd; days30Usd: Usd };
  /** What will stop this account first. */
  binding: { kind: 'balance' | 'monthly_limit'; leftUsd: Usd; limitUsd: Usd | null };
  limits: ShownLimits;
  openHolds: number;
  /** The balance at the end of each of the last days, and now. */
  balanceDays: { day: Day; balanceUsd: Usd }[];
  /** When the balance is used up at the pace of the last week, or why that cannot be said. */
  forecast: { kind: 'until'; at: Millis } | { kind: 'long' | 'no_spending' | 'too_early' | 'empty' };
  /** A saved card is charged before the balance runs out. */
  automaticTopUp: boolean;
  token: TokenInfo | null;
  /** The last 14 days, as the rows of {@link UsageReport}. */
  chart: UsageChartRow[];
  latest: RequestItem[];
}

/** Where the account has none of its own, the catalog's default is shown. */
export interface ShownLimits {
  chatPerMinute: number;
  imagesPerMinute: number;
  concurrent: number;
  monthlyUsd: Usd | null;
  monthSpentUsd: Usd;
}

export interface TokenInfo {
  /** `sk-…a1b2` */
  hint: string;
  createdAt: Millis;
  usedAt: Millis | null;
  /** It was seen over plain HTTP: replace it. */
  exposedAt: Millis | null;
}

export interface Quickstart {
  hasToken: boolean;
  /** When the first request arrived with the token; null: still waiting. Playground calls count too. */
  firstRequest: { id: string; at: Millis; endpoint: string; model: string; state: RequestState } | null;
  /** A chat and an image model that work right now, for the snippets. */
  chat: { endpoint: string; model: string } | null;
  image: { endpoint: string; model: string } | null;
}

export interface ModelItem {
  endpoint: string;
  endpointName: string;
  type: EndpointKind;
  model: string;
  displayName: string;
  /** The catalog's list: `source_table` of the public API. */
  list: string;
  price: ListedPrice;
  free: boolean;
  contextTokens: number;
  maxOutput: number;
  /** Image models; the first is the default. */
  sizes: string[];
  /** Image models only: what a request may ask for. */
  abilities: ImageAbilityList | null;
  vision: boolean;
  /** It takes files such as PDF. */
  files: boolean;
  tools: boolean;
  reasoning: boolean;
  /** Why it cannot be used now; null when it can. */
  unavailable: string | null;
}

/** By the names of a request; null where the backend decides. */
export interface ImageAbilityList {
  sizes: readonly string[];
  size_range: {
    step: number;
    min_edge: number;
    max_edge: number;
    max_ratio: number;
    min_pixels: number;
    max_pixels: number;
  } | null;
  /** What an aspect ratio, a resolution, or both together stand for. */
  shapes: readonly { size: string; aspect_ratio: string | null; resolution: string | null }[];
  max_n: number;
  quality: readonly string[] | null;
  background: readonly string[] | null;
  output_format: readonly string[] | null;
  output_compression: boolean | null;
  moderation: readonly string[] | null;
  style: readonly string[] | null;
  seed: boolean | null;
  negative_prompt: boolean | null;
  reference_images: number | null;
  mask: boolean | null;
  partial_images: number | null;
}

/** Tokens: dollars per million. Images: dollars each. */
export type ListedPrice =
  | {
      kind: 'tokens';
      inputUsd: Usd;
      cachedInputUsd: Usd;
      outputUsd: Usd;
      others: OtherPrice[];
      /** The factor of the token prices in each service tier. */
      tiers: { tier: string; factor: number }[];
    }
  | { kind: 'images'; bySize: { size: string; imageUsd: Usd }[]; others: OtherPrice[] };

/** A price beside the ordinary ones. */
export interface OtherPrice {
  /** The key in the catalog; of an image its size. */
  item: string;
  usd: Usd;
  /** How many of it the price is for. */
  per: number;
  /** Only where the input has more tokens than this. */
  above: number | null;
  quality: string | null;
}

export interface EndpointItem {
  endpoint: string;
  name: string;
  type: EndpointKind;
  unavailable: string | null;
  status: 'up' | 'degraded' | 'down';
}

export interface ModelList {
  endpoints: EndpointItem[];
  models: ModelItem[];
}

/** How an offer of a model did lately, of all accounts together: shares and speeds, no numbers of requests. */
export interface OfferFigures {
  /** The share of requests of 90 days that did not fail; null: there were none. */
  uptime: number | null;
  /** The oldest first, today last. */
  days: { day: Day; uptime: number | null }[];
  /** Milliseconds until the first token, or until an image is there; null: too few requests. */
  wait: { p50: number; p95: number } | null;
  /** Output tokens per second. */
  speed: { p50: number; p95: number } | null;
  /** What 1,000 chats of 500 tokens in and 300 out cost, or 1,000 texts, or 100 images; null where the price does not say. */
  typicalUsd: Usd | null;
}

export interface UsageReport {
  from: Day;
  to: Day;
  /** By day: the models, endpoints or clients with the largest share, and the others together, without a name. */
  rows: UsageChartRow[];
  /** What the table shows: the largest charge first, days and hours newest first. */
  groups: UsageGroup[];
  /** What is not among the groups, together; null: there is nothing else. */
  others: UsageSaved | null;
  totals: UsageSaved;
  /**
   * Requests that are not broken down by hour and client: their receipts are no longer kept, or are still being
   * counted.
   */
  missing: number;
}

export interface UsageChartRow extends UsageCounts {
  day: Day;
  /** Empty: a client that did not say what it is. */
  name: string | null;
}

/** The fields by which it was not grouped are null. */
export interface UsageGroup extends UsageSaved {
  day: Day | null;
  endpoint: string | null;
  model: string | null;
  client: string | null;
  /** When an hour of the asked time zone began. */
  hour: Millis | null;
}

/** By hour and weekday of a time zone; only those with requests. */
export interface UsageHeatMap {
  cells: UsageCell[];
  missing: number;
}

export interface UsageCell extends UsageSaved {
  /** 0 is Monday. */
  weekday: number;
  hour: number;
}

export interface UsageSaved extends UsageCounts {
  /** How much more it would have cost had no input been cached. */
  savedUsd: Usd;
}

/** `inputTokens` includes `cachedTokens`; `outputTokens` includes `reasoningTokens`. */
export interface UsageCounts {
  requests: number;
  failures: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  images: number;
  chargedUsd: Usd;
}

/** A page may hold fewer items than asked for, even none, and still have a `next`: the search is bounded, go on. */
export type RequestPage = SearchedPage<RequestItem>;

/** What the filters of requests offer: whatever was used at any time. */
export interface RequestValues {
  readonly endpoints: readonly string[];
  readonly models: readonly string[];
}

export interface ReceiptDetail extends RequestItem {
  /** As the catalog calls them now; null where it has them no longer. */
  endpointName: string | null;
  modelName: string | null;
  /** What the endpoint is for, where the model can be called now. */
  playable: EndpointKind | null;
  /** What was held and not charged; null while it runs. */
  releasedUsd: Usd | null;
  finishedAt: Millis | null;
  finishReason: string | null;
  /** Who counted: the backend, or Tollgate's own meter. */
  usageSource: 'upstream' | 'counted' | 'mixed' | null;
  /** The output cap that the hold covered. */
  outputCap: number;
  choices: number;
  lines: ReceiptDetailLine[];
  /** The sum of the lines, rounded up once to a whole nano-dollar; what was charged is never more than what was held. */
  totalUsd: Usd;
  attempts: ReceiptAttempt[];
}

export interface ReceiptDetailLine {
  item: PricedItem;
  quantity: number;
  /** Dollars per `per` units. */
  unitUsd: Usd;
  per: number;
  /** Of the service tier; null where it is 1. */
  factor: number | null;
  /** Exact, before rounding; up to fifteen decimals. */
  amountUsd: Usd;
}

/** What anybody with the link to a receipt sees: nothing about its owner, the client or other requests. */
export interface SharedReceipt extends Omit<ReceiptDetail, 'client'> {
  /** When the link stops working. */
  expiresAt: Millis;
}

export interface ReceiptLink {
  id: string;
  /** Path and fragment on this site. The fragment is never sent to a server by the browser's address bar. */
  path: string;
  expiresAt: Millis;
}

/** A link to a receipt that has not expired. */
export interface KeptReceiptLink {
  id: string;
  requestId: string;
  createdAt: Millis;
  expiresAt: Millis;
  /** When its owner ended it; null: it works. */
  endedAt: Millis | null;
}

export interface ReceiptAttempt {
  upstream: string;
  result: 'served' | 'failed' | 'skipped';
  reason: string | null;
  durationMs: number;
}
