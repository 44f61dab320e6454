/**
 * The known word that was probably meant: one that begins or is spelled nearly like the given one. At most a third of
 * the letters may differ; two neighbours in the wrong order are one difference.
 */
export function closestWord(word: string, known: readonly string[]): string | undefined {
  const given = word.toLowerCase().slice(0, MAX_LETTERS);
  const ranked = known
    .map((candidate) => ({ candidate, differences: differencesOf(given, candidate.toLowerCase()) }))
    .filter(({ candidate, differences }) => differences <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.differences - b.differences);
  return ranked[0]?.candidate;
}

/** ` Did you mean 'x'?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = closestWord(word, known);
  return meant === undefined ? '' : ` Did you mean '${meant}'?`;
}

/** A longer word is no typing mistake, and comparing it would only take time. */
const MAX_LETTERS = 64;
const LEAST_BEGINNING = 3;

function differencesOf(given: string, known: string): number {
  if (given.length >= LEAST_BEGINNING && known.startsWith(given)) return 1;
  // Rows of the table of edit distances; two rows back is where a swap of neighbours began.
  let twoBack: number[] = [];
  let back = Array.from({ length: known.length + 1 }, (_, index) => index);
  for (let row = 1; row <= given.length; row++) {
    const current = [row];
    for (let column = 1; column <= known.length; column++) {
      const same = given[row - 1] === known[column - 1];
      const swapped = given[row - 1] === known[column - 2] && given[row - 2] === known[column - 1];
      current[column] = Math.min(
        (current[column - 1] ?? 0) + 1,
        (back[column] ?? 0) + 1,
        (back[column - 1] ?? 0) + (same ? 0 : 1),
        swapped && row > 1 && column > 1 ? (twoBack[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    [twoBack, back] = [back, current];
  }
  return back[known.length] ?? Infinity;
}
