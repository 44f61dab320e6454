import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { countPieces } from '../count-pieces.ts';
import type { TokenCounter } from '../port.ts';

const NO_SPECIAL = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

/** The tokens of a text by the vocabulary itself. */
export function vocabularyTokens(text: string): number {
  return countTokens(text, NO_SPECIAL);
}

/** Counts at once and on the spot, for tests of what is done with the counts. */
export const inProcessCounter: TokenCounter = {
  count({ texts }) {
    const counts = texts.map((text) => countPieces(text, vocabularyTokens));
    return Promise.resolve({
      tokens: counts.reduce((sum, { tokens }) => sum + tokens, 0),
      cuts: counts.reduce((sum, { cuts }) => sum + cuts, 0),
    });
  },
};
