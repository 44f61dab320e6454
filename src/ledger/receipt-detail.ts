import type { Attempt, Ending } from './port.ts';

/** What a receipt says besides its columns: rarely asked for, so it is one short JSON text. Absent when there is nothing. */
interface StoredDetail {
  readonly error?: string | undefined;
  readonly finish?: string | undefined;
  readonly attempts?: readonly StoredAttempt[] | undefined;
}

/** The upstream is left out (0) where it is the receipt's own, as it nearly always is. */
type StoredAttempt = readonly [result: number, durationMs: number, upstream?: string | 0, reason?: string];

const RESULTS: readonly Attempt['result'][] = ['served', 'failed', 'skipped'];

export function detailText({ errorCode, finishReason, attempts, upstream }: Ending): string | null {
  if (errorCode === undefined && finishReason === undefined && attempts.length === 0) return null;
  const detail: StoredDetail = {
    error: errorCode,
    finish: finishReason,
    attempts: attempts.length === 0 ? undefined : attempts.map((attempt) => stored(attempt, upstream)),
  };
  return JSON.stringify(detail);
}

function stored(attempt: Attempt, receiptUpstream: string | undefined): StoredAttempt {
  const { result, durationMs, reason } = attempt;
  const upstream = attempt.upstream === receiptUpstream ? 0 : attempt.upstream;
  const code = RESULTS.indexOf(result);
  if (reason !== undefined) return [code, durationMs, upstream, reason];
  return upstream === 0 ? [code, durationMs] : [code, durationMs, upstream];
}

/** The attempts of a row of `request`. */
export function attemptsOf(row: {
  readonly attempts: string | null;
  readonly upstream: string | null;
}): Attempt[] {
  if (row.attempts === null) return [];
  // Written by `detailText` alone.
  return (JSON.parse(row.attempts) as StoredAttempt[]).map(([result, durationMs, upstream, reason]) => ({
    upstream: upstream || (row.upstream ?? ''),
    result: RESULTS[result] ?? 'failed',
    reason,
    durationMs,
  }));
}
