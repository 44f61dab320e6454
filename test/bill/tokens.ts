import { countTokens, encode, decodeGenerator } from 'gpt-tokenizer/encoding/o200k_base';

/** The backend's own tokenizer: OpenAI's o200k, from a package that the code under test need not use. */
export function tokensOf(text: string): number {
  return countTokens(text, ORDINARY);
}

/** A text as its tokens, each with the characters that it completes; a character of several tokens comes with the last one. */
export function piecesOf(text: string): string[] {
  const ids = encode(text, ORDINARY);
  const pieces = [...decodeGenerator(ids)];
  // Tokens that only begin a character yield nothing: they are counted with the piece that ends it.
  while (pieces.length < ids.length) pieces.unshift('');
  return pieces;
}

/** A prompt that contains the name of a special token is ordinary text. */
const ORDINARY = { disallowedSpecial: new Set<string>() };
