/** How the backend behaves towards the requests that carry a scene's cue. */
export interface Scene {
  /** Length of the answer, unless the request asks for less. */
  readonly words: number;
  /** Reasoning that nobody sees, generated before the first word and billed as output. */
  readonly reasoningTokens: number;
  /** Before the first byte of the answer. */
  readonly delayMs: number;
  /** Between two words of a stream. */
  readonly wordMs: number;
  /** What the usage report says; what was used is billed whatever it says. */
  readonly usage: 'right' | 'missing' | 'zero' | 'negative' | 'huge';
  /** Of the input, so many tokens came from the backend's cache. */
  readonly cachedTokens: number;
  readonly toolCall: boolean;
  /** The first calls of the scene end so, each before anything was done for it. */
  readonly refusals: readonly Refusal[];
  /** What happens to an answer after so many of its words. */
  readonly end?: { readonly afterWords: number; readonly how: 'cut' | 'freeze' } | undefined;
  /** A stream that says 200 and then, as its first event, that it failed. */
  readonly errorFirst: boolean;
  /** Of the images asked for, so many are missing. */
  readonly missingImages: number;
}

export interface Refusal {
  readonly status: 429 | 500;
  readonly retryAfterSeconds?: number;
}

export const PLAIN_SCENE: Scene = {
  words: 100,
  reasoningTokens: 0,
  delayMs: 0,
  wordMs: 0,
  usage: 'right',
  cachedTokens: 0,
  toolCall: false,
  refusals: [],
  errorFirst: false,
  missingImages: 0,
};
