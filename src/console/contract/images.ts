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

/** What the gallery can be narrowed to, the most frequent first. */
export interface ImageFacets {
  total: number;
  models: { model: string; images: number }[];
  sizes: { size: string; images: number }[];
}

/** Image requests that run in the background, the newest first: those that run, and those that ended lately. */
export interface ImageJobList {
  /** The server's time, so that what has passed is known on a computer with another one. */
  now: Millis;
  items: ImageJobItem[];
}

export interface ImageJobItem {
  /** The request's. */
  id: string;
  state: 'queued' | 'running' | 'done' | 'failed';
  endpoint: string | null;
  model: string | null;
  /** Null once a job has failed: then it is kept nowhere. */
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
