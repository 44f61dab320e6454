import { nextTurn } from './turns.ts';

/** Longer texts are converted in steps of this length: between them, other requests have their turn. */
export const LONG_TEXT = 1_048_576;

/** The decoder is a new one: it remembers the beginning of a character between two steps. */
export async function decodeInSteps(decoder: TextDecoder, bytes: Uint8Array): Promise<string> {
  let text = '';
  for (let from = 0; from < bytes.length; from += LONG_TEXT) {
    text += decoder.decode(bytes.subarray(from, from + LONG_TEXT), { stream: true });
    await nextTurn();
  }
  text += decoder.decode();
  // The pieces are joined when the text is first looked at, and that takes a step of its own.
  text.charCodeAt(0);
  await nextTurn();
  return text;
}

/** As UTF-8. The first step is after the current one, which may have been long itself. */
export async function encodeInSteps(text: string): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = [];
  for await (const piece of inSteps(text)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** A text in pieces, each in a turn of its own. No character of two halves is in two of them. */
export async function* inSteps(text: string): AsyncGenerator<string> {
  for (let from = 0; from < text.length;) {
    await nextTurn();
    const end = from + LONG_TEXT;
    const to = isHalfAt(text, end - 1) ? end + 1 : end;
    yield text.slice(from, to);
    from = to;
  }
}

/** The first half of a character of two. */
function isHalfAt(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd800 && code <= 0xdbff;
}
