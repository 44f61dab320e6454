/** A part of a job that is counted in one turn. */
export interface TextSlice {
  readonly texts: readonly string[];
  readonly characters: number;
  /** Cuts inside of what may have been one token. */
  readonly cuts: number;
}

/** Two milliseconds of work for ordinary text, fifty for the worst. */
export const SLICE_CHARACTERS = 16_384;
/** How far back from the end of a slice a place to cut is looked for. */
const SEARCHED_CHARACTERS = 2_048;

/** The texts in slices of at most {@link SLICE_CHARACTERS}, cut where every encoding begins a new token. */
export function* slicesOf(texts: readonly string[]): Generator<TextSlice> {
  let slice: string[] = [];
  let characters = 0;
  for (const text of texts) {
    for (let from = 0; from < text.length;) {
      const room = SLICE_CHARACTERS - characters;
      if (text.length - from <= room) {
        slice.push(from === 0 ? text : text.slice(from));
        characters += text.length - from;
        break;
      }
      const { at, isSafe } = cutBefore(text, from, from + room);
      slice.push(text.slice(from, at));
      yield { texts: slice, characters: characters + at - from, cuts: isSafe ? 0 : 1 };
      slice = [];
      characters = 0;
      from = at;
    }
  }
  yield { texts: slice, characters, cuts: 0 };
}

/**
 * Every encoding ends a piece between a letter or digit and a character that is neither (which may be a surrogate
 * pair): no token spans that place.
 */
const PIECE_END = /^[\p{L}\p{N}][^\p{L}\p{M}\p{N}'’]/u;

/** The last place to cut at or before `to`, and whether it is between two pieces. */
export function cutBefore(text: string, from: number, to: number): { at: number; isSafe: boolean } {
  for (let at = to; at > Math.max(from, to - SEARCHED_CHARACTERS); at--)
    if (PIECE_END.test(text.slice(at - 1, at + 2))) return { at, isSafe: true };
  return { at: isLowSurrogate(text, to) && to - 1 > from ? to - 1 : to, isSafe: false };
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
