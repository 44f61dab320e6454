/** The encodings that a model may declare as its own. */
export const TOKEN_ENCODINGS = [
  'o200k_base',
  'o200k_harmony',
  'cl100k_base',
  'p50k_base',
  'r50k_base',
] as const;
export type TokenEncoding = (typeof TOKEN_ENCODINGS)[number];

/** For models that declare none: the most common one, and close to the others on most texts. */
export const USUAL_ENCODING: TokenEncoding = 'o200k_base';

export interface CountJob extends CountLimits {
  readonly encoding: TokenEncoding;
  readonly texts: readonly string[];
  /** The account of the job: turns are shared between accounts, not between jobs. */
  readonly account: string;
  /** Aborted when nobody needs the count any more. */
  readonly signal?: AbortSignal | undefined;
}

/** How long the caller waits. */
export interface CountLimits {
  readonly limitMs: number;
  /** How much longer if the encoding has to be loaded first, which happens once. */
  readonly loadMs: number;
}

export interface CountedText {
  readonly tokens: number;
  /** How often a text was cut where its encoding might not have split it. */
  readonly cuts: number;
}

/**
 * How far a count may be off for its cuts. Beside a cut other tokens are formed than in the whole text; of random hostile
 * texts one in a thousand is off by more than one token for each cut, and none was seen that is off by more than four.
 */
export function cutTolerance(cuts: number): number {
  return cuts === 0 ? 0 : TOKENS_PER_CUT * (cuts + 1);
}

const TOKENS_PER_CUT = 4;

/** Counts the tokens of texts on another thread. */
export interface TokenCounter {
  /** `undefined`: not in time, or not needed any more. It never throws. */
  count(job: CountJob): Promise<CountedText | undefined>;
}

/** A request waits this long for the count of its input, before it is admitted by a bound instead. */
export function holdLimits(characters: number, waitMs: number): CountLimits {
  return { limitMs: waitMs + 150 * (characters / 1_000_000), loadMs: 5_000 };
}

/** A charge waits longer, because it must not be guessed: a busy machine only delays its receipt. */
export function chargeLimits(characters: number): CountLimits {
  return { limitMs: 20_000 + 6_000 * (characters / 1_000_000), loadMs: 60_000 };
}

/**
 * A lower bound that needs no vocabulary: in every encoding each run of letters and each run of digits is at least one
 * token. Charged where the real count is not available, so that such a charge is never too high.
 */
export function fewestTokens(text: string): number {
  let runs = 0;
  for (const _ of text.matchAll(RUNS)) runs++;
  return Math.max(runs, text === '' ? 0 : 1);
}

const RUNS = /\p{L}[\p{L}\p{M}'’]*|\p{N}+/gu;
