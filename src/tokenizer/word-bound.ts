/**
 * A count that no encoding undercuts, without its vocabulary: each run of letters and each run of digits is at least
 * one token. Charged where the real count cannot be had, so that such a charge is never too high.
 */
export function fewestTokens(text: string): number {
  let runs = 0;
  for (const _ of text.matchAll(RUNS)) runs++;
  return Math.max(runs, text === '' ? 0 : 1);
}

const RUNS = /\p{L}[\p{L}\p{M}'’]*|\p{N}+/gu;
