/**
 * How the house models count tokens. A word takes the white space before it along and is cut into pieces of at most six
 * UTF-8 bytes, never inside a character; each piece is one token. English prose comes to about four characters a token.
 *
 * Two properties others rely on: `tokenCount(text)` is at most half the text's UTF-8 bytes plus one, so an input ceiling
 * of half the request's bytes always covers it; and the first k tokens of a text count as exactly k.
 */
export function tokenCount(text: string): number {
  return scan(text, Infinity).tokens;
}

/** The longest beginning of `text` that counts at most `limit` tokens. */
export function firstTokens(text: string, limit: number): string {
  return limit <= 0 ? '' : text.slice(0, scan(text, limit).end);
}

const PIECE_BYTES = 6;

/** Counts up to `limit` tokens and says where the last of them ends. */
function scan(text: string, limit: number): { tokens: number; end: number } {
  let tokens = 0;
  let room = 0;
  let inWord = false;
  let at = 0;
  while (at < text.length) {
    const code = text.codePointAt(at) ?? 0;
    const space = isSpace(code);
    const bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    // White space after a word begins the next token; so does a character that the piece has no room for.
    if (room < bytes || (space && inWord)) {
      if (tokens === limit) return { tokens, end: at };
      tokens++;
      room = PIECE_BYTES;
    }
    room -= bytes;
    inWord = !space;
    at += code > 0xffff ? 2 : 1;
  }
  return { tokens, end: at };
}

function isSpace(code: number): boolean {
  return (
    code === 32 ||
    (code >= 9 && code <= 13) ||
    code === 0xa0 ||
    code === 0x3000 ||
    code === 0x2028 ||
    code === 0x2029
  );
}
