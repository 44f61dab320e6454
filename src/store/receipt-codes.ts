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

export const STATE_CODES = codesOf(RECEIPT_STATES);
export const OUTCOME_CODES = codesOf(RECEIPT_OUTCOMES);
export const SOURCE_CODES = codesOf(RECEIPT_SOURCES);

function codesOf<Word extends string>(words: readonly Word[]): Readonly<Record<Word, number>> {
  // Every word of the list is a key.
  return Object.fromEntries(words.map((word, index) => [word, index + 1])) as Record<Word, number>;
}

/** The word for the number in a column, as SQL. */
export function receiptWordSql(words: readonly string[], column: string): string {
  const cases = words.map((word, index) => `WHEN ${index + 1} THEN '${word}'`);
  return `CASE ${column} ${cases.join(' ')} END`;
}

/** The sums by backend count durations up to each of these, and longer ones apart; see the columns of `backend_day`. */
export const DURATION_BOUNDS_MS = [500, 2_000, 10_000, 60_000] as const;
export const DURATION_COLUMNS = ['to_500ms', 'to_2s', 'to_10s', 'to_60s', 'longer'] as const;

/** Outcomes other than this one are rare, and have indexes of their own. */
export const COMPLETED = OUTCOME_CODES.completed;

/**
 * Nearly all receipts are booked within this time after their id was made, and so nearly in the order of their ids: a
 * list by booking time needs no index that every request would update. The others are found by an index of their own.
 */
export const PROMPT_MS = 10_000;
