import type { Millis, Page, Usd } from './shared.ts';

/** The newest images first; when they need more room than there is, the oldest are deleted. */
export interface ImageGallery extends Page<ImageItem> {
  /** What all of the account's images occupy, and may. */
  usedBytes: number;
  quotaBytes: number;
}

export interface ImageItem {
  id: string;
  requestId: string;
  mime: string;
  bytes: number;
  prompt: string;
  at: Millis;
  expiresAt: Millis;
  /** In pixels; null where the format does not say. */
  width: number | null;
  height: number | null;
  endpoint: string | null;
  model: string | null;
  /** What else the request said, by the names of the API; `pictures` is how many it started from. */
  parameters: Record<string, string | number | boolean>;
  /** Path of the picture on this origin; needs the session. */
  src: string;
  /** A small picture of it. */
  thumbnail: string;
}

/** What the gallery can be filtered by, the most frequent first. */
export interface ImageFacets {
  total: number;
  models: { model: string; images: number }[];
  sizes: { size: string; images: number }[];
}

/** Image requests that run in the background, the newest first: those that run, and those that ended lately. */
export interface ImageJobList {
  /** The server's time, so that elapsed time is right in a browser whose clock is not. */
  now: Millis;
  items: ImageJobItem[];
}

export interface ImageJobItem {
  /** The request's. */
  id: string;
  state: 'queued' | 'running' | 'done' | 'failed';
  endpoint: string | null;
  model: string | null;
  /** Null once a job has failed, since it is no longer stored then. */
  prompt: string | null;
  /** How many images were asked for. */
  count: number;
  createdAt: Millis;
  endedAt: Millis | null;
  /** How long the model has taken for the account's latest images; null where there are none. */
  typicalMs: number | null;
  /** Null until it has ended. */
  chargedUsd: Usd | null;
  images: Pick<ImageItem, 'id' | 'src' | 'thumbnail' | 'prompt'>[];
  /** Why it failed. */
  error: string | null;
}
