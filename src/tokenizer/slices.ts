/** A part of a job that is counted in one turn. */
export interface TextSlice {
  readonly texts: readonly string[];
  readonly characters: number;
  /** Cuts inside of what may have been one token. */
  readonly cuts: number;
}

/** Of characters in ASCII, which take two milliseconds in ordinary text, and sixteen in the worst. */
export const SLICE_CHARACTERS = 16_384;
/** How many characters in ASCII a character beyond it counts for: it takes about as much longer. */
const FOREIGN_WEIGHT = 8;
/** How far back a place to cut is looked for. */
const SEARCHED_CHARACTERS = 2_048;
/** The same from the end of a slice: a longer piece is cut in any case, by countPieces. */
const SEARCHED_IN_SLICE = 256;

/** The texts in slices that take about the same time, cut where every encoding begins a new token. */
export function* slicesOf(texts: readonly string[]): Generator<TextSlice> {
  let slice: string[] = [];
  let characters = 0;
  let room = SLICE_CHARACTERS;
  for (const text of texts) {
    for (let from = 0; from < text.length;) {
      const { end, weight } = fitting(text, from, room);
      if (end === text.length) {
        slice.push(from === 0 ? text : text.slice(from));
        characters += end - from;
        room -= weight;
        break;
      }
      // A slice may be full before a text begins: then nothing is cut. A new one has room for any character.
      const { at, isSafe } =
        end === from ? { at: from, isSafe: true } : cutBefore(text, from, end, SEARCHED_IN_SLICE);
      if (at > from) slice.push(text.slice(from, at));
      yield { texts: slice, characters: characters + at - from, cuts: isSafe ? 0 : 1 };
      slice = [];
      characters = 0;
      room = SLICE_CHARACTERS;
      from = at;
    }
  }
  yield { texts: slice, characters, cuts: 0 };
}

/** How far the text fits into the room that is left. */
function fitting(
  text: string,
  from: number,
  room: number,
): { readonly end: number; readonly weight: number } {
  let weight = 0;
  for (let at = from; at < text.length; at++) {
    const more = text.charCodeAt(at) < 0x80 ? 1 : FOREIGN_WEIGHT;
    if (weight + more > room) return { end: at, weight };
    weight += more;
  }
  return { end: text.length, weight };
}

/**
 * Every encoding ends a piece between a letter or digit and a character that is neither (which may be a surrogate
 * pair): no token spans that place.
 */
const PIECE_END = /^[\p{L}\p{N}][^\p{L}\p{M}\p{N}'’]/u;

/** The last place to cut at or before `to`, and whether it is between two pieces. */
export function cutBefore(
  text: string,
  from: number,
  to: number,
  searched = SEARCHED_CHARACTERS,
): { at: number; isSafe: boolean } {
  for (let at = to; at > Math.max(from, to - searched); at--)
    if (PIECE_END.test(text.slice(at - 1, at + 2))) return { at, isSafe: true };
  return { at: isLowSurrogate(text, to) && to - 1 > from ? to - 1 : to, isSafe: false };
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
