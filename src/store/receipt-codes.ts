/**
 * Receipts store these words as small numbers: the place in the list, counted from one. Words are only ever added, at the
 * end: the numbers are in every database.
 */
export const RECEIPT_STATES = ['posted', 'void', 'expired'] as const;
export const RECEIPT_OUTCOMES = [
  'completed',
  'client_left',
  'upstream_failed',
  'cut_short',
  'expired',
  'shed',
] as const;
export const RECEIPT_SOURCES = ['upstream', 'counted', 'mixed'] as const;

export function receiptCode<Word extends string>(words: readonly Word[], word: Word): number {
  return words.indexOf(word) + 1;
}

/** The word for the number in a column, as SQL. */
export function receiptWordSql(words: readonly string[], column: string): string {
  const cases = words.map((word, index) => `WHEN ${index + 1} THEN '${word}'`);
  return `CASE ${column} ${cases.join(' ')} END`;
}

/** Outcomes other than this one are rare, and have indexes of their own. */
export const COMPLETED = receiptCode(RECEIPT_OUTCOMES, 'completed');

/**
 * A receipt that was booked outside of this time after its id was made is found by an index of its own. All others are
 * booked nearly in the order of their ids, so that a list by booking time needs no index that every request would update.
 */
export const PROMPT_MS = 10_000;
