/**
 * Estimates a number of tokens where nothing is charged by it and loading a vocabulary is not worth its memory: within
 * about ten per cent of a common vocabulary on prose and code.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const match of text.matchAll(PIECES)) tokens += pieceTokens(match[0]);
  return tokens;
}

/** A word with its leading space, a run of digits, a run of signs, white space, or anything else. */
const PIECES = / ?\p{L}[\p{L}\p{M}']*|\p{N}+| ?[!-/:-@[-`{-~]+|\s+|[^\p{L}\p{N}\s!-~]+/gu;

function pieceTokens(piece: string): number {
  const text = piece.length > 1 && piece.startsWith(' ') ? piece.slice(1) : piece;
  const first = text.codePointAt(0) ?? 0;
  if (isDigit(first)) return Math.ceil(text.length / 3);
  if (isLatin(first)) return Math.ceil(text.length / 9);
  if (first < FIRST_NON_ASCII) return signTokens(text);
  if (first < FIRST_EAST_ASIAN) return Math.ceil(text.length / 4);
  return Math.ceil(text.length * 0.8);
}

const FIRST_NON_ASCII = 0x80;
const FIRST_EAST_ASIAN = 0x2e80;
const LAST_LATIN = 0x24f;

/** Line breaks and indentation are one token; a single space belongs to the word after it. */
function signTokens(text: string): number {
  if (text.trim() === '') return text === ' ' ? 0 : 1;
  return Math.ceil(text.length / 2);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isLatin(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || (code >= 0xc0 && code <= LAST_LATIN);
}
