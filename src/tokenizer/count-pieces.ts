import type { CountedText } from './port.ts';

/** The tokens of a text in one encoding. */
export type Vocabulary = (text: string) => number;

/** Encodings take quadratic time for a piece that they do not split: a longer one is cut. */
const PIECE_CHARACTERS = 256;
/** Kinds of characters that an encoding may take as one piece: letters, white space, digits, or signs. */
const PIECES = /[\p{L}\p{M}]+|\s+|\p{N}+|[^\s\p{L}\p{N}]+/gu;

/** Counts a text in time that is linear in its length, whatever it contains. */
export function countPieces(text: string, vocabulary: Vocabulary): CountedText {
  if (!mayHaveLongPiece(text)) return { tokens: vocabulary(text), cuts: 0 };
  let tokens = 0;
  let cuts = 0;
  let from = 0;
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    if (piece.length <= PIECE_CHARACTERS) continue;
    const end = index + piece.length;
    if (index > from) {
      tokens += vocabulary(text.slice(from, index));
      cuts++;
    }
    for (from = index; from < end; cuts++) {
      const to = pieceEnd(text, from, end);
      tokens += vocabulary(text.slice(from, to));
      from = to;
    }
  }
  if (from < text.length) tokens += vocabulary(text.slice(from));
  else if (cuts > 0) cuts--;
  return { tokens, cuts };
}

/** Not between the two halves of a character. */
function pieceEnd(text: string, from: number, end: number): number {
  const to = Math.min(from + PIECE_CHARACTERS, end);
  const code = text.charCodeAt(to - 1);
  return to < end && code >= 0xd800 && code <= 0xdbff ? to - 1 : to;
}

/** Beyond ASCII: it may belong to a piece of any kind. */
const ANY = 0;
const LETTER = 1;
const SPACE = 2;
const SIGN = 3;
const DIGIT = 4;
/** The kind of each character, by ASCII code. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[A-Za-z]/.test(character)) return LETTER;
  if (/\d/.test(character)) return DIGIT;
  return /\s/.test(character) ? SPACE : SIGN;
});

/**
 * A quick check that most texts pass: telling all kinds of characters apart takes as long as counting. A piece that it
 * overlooks, because it began with characters beyond ASCII, is at most twice as long.
 */
function mayHaveLongPiece(text: string): boolean {
  let kind = ANY;
  let begin = 0;
  for (let at = 0; at < text.length; at++) {
    const own = KINDS[text.charCodeAt(at)] ?? ANY;
    if (own !== kind && own !== ANY) {
      if (kind !== ANY) begin = at;
      kind = own;
    }
    if (at - begin >= PIECE_CHARACTERS) return true;
  }
  return false;
}
