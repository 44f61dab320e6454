import type { Day, Usd } from './shared.ts';

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
