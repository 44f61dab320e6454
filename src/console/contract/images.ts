import type { Millis, Usd } from './shared.ts';

/** What the gallery can be filtered by, the most frequent first. */
export interface ImageFacets {
  total: number;
  models: { model: string; images: number }[];
  sizes: { size: string; images: number }[];
}

/** Where an image of the account is, on this origin; both need the session. */
export interface PicturePaths {
  src: string;
  /** A small picture of it. */
  thumbnail: string;
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
  images: ({ id: string; prompt: string } & PicturePaths)[];
  /** Why it failed. */
  error: string | null;
}
