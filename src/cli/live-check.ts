import type { Catalog } from '../catalog/catalog.ts';
import type { NanoUsd } from '../std/money.ts';

export const LIVE_CASES = ['chat', 'stream', 'tools', 'json schema', 'image in', 'image out'] as const;
export type LiveCaseName = (typeof LIVE_CASES)[number];

/** Real requests to a backend, for `doctor --live`. */
export interface LiveCheckRequest {
  readonly catalog: Catalog;
  readonly backend: string;
  /** The only model to use; otherwise the cheapest that can do what a case needs. */
  readonly model?: string | undefined;
  /** No request is sent that could cost more than what is left of this. */
  readonly most: NanoUsd;
  /** All when absent. */
  readonly cases?: readonly LiveCaseName[] | undefined;
}

export type LiveResult = {
  readonly name: LiveCaseName;
  readonly model: string | undefined;
  readonly held: NanoUsd;
  readonly cost: NanoUsd;
  readonly durationMs: number;
} & (
  | { readonly kind: 'passed'; readonly usage: LiveUsage }
  | { readonly kind: 'failed'; readonly reason: string; readonly usage?: LiveUsage | undefined }
  | { readonly kind: 'skipped'; readonly reason: string }
);

/** As the provider reported it. */
export interface LiveUsage {
  readonly input: number | undefined;
  readonly cached: number | undefined;
  readonly output: number | undefined;
  readonly reasoning: number | undefined;
  readonly images: number | undefined;
  /** The words of the answer, if there were any. */
  readonly text: string;
  /** What the provider says it charges, if it says so. */
  readonly reportedCost: NanoUsd | undefined;
}

export type LiveCheck = (request: LiveCheckRequest) => Promise<readonly LiveResult[]>;
