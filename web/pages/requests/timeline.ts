import type { ReceiptAttempt, ReceiptDetail } from '../../lib/answers.ts';

export type TimedReceipt = Pick<
  ReceiptDetail,
  'at' | 'finishedAt' | 'state' | 'outcome' | 'stream' | 'kind' | 'firstByteMs' | 'durationMs'
> & { readonly attempts: readonly ReceiptAttempt[] };

export type TimelineStep<Attempt = ReceiptAttempt> =
  | { readonly kind: 'admitted'; readonly atMs: number }
  | {
      readonly kind: 'attempt';
      readonly atMs: number;
      /** Pauses before a retry are not recorded, so it began at this time or a little later. */
      readonly isAtLeast: boolean;
      /** Counts the attempts that were made; undefined for one that was skipped. */
      readonly number: number | undefined;
      readonly attempt: Attempt;
    }
  | { readonly kind: 'retry'; readonly atMs: number; readonly of: string }
  | { readonly kind: 'first' | 'ended' | 'settled'; readonly atMs: number }
  | { readonly kind: 'running'; readonly atMs: undefined };

/** A part of the bar; together they make up the whole. */
interface TimelineSegment {
  readonly kind: 'failed' | 'waiting' | 'answer' | 'other';
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Timeline<Attempt = ReceiptAttempt> {
  readonly totalMs: number;
  readonly steps: readonly TimelineStep<Attempt>[];
  readonly segments: readonly TimelineSegment[];
}

const RETRY_OF = 'retry_of:';
/** A request that is booked this long after its end was booked late, because the store was unavailable. */
const LATE_MS = 1_000;

/** When everything happened, counted from the admission, as far as the receipt knows. */
export function timelineOf<Attempt extends ReceiptAttempt>(
  receipt: TimedReceipt & { readonly attempts: readonly Attempt[] },
): Timeline<Attempt> {
  const admitted = { kind: 'admitted', atMs: 0 } as const;
  const { durationMs, firstByteMs } = receipt;
  if (receipt.state === 'pending' || durationMs === null)
    return { totalMs: 0, steps: [admitted, { kind: 'running', atMs: undefined }], segments: [] };
  const placed = placedAttempts(receipt);
  const lastMs = Math.max(0, ...placed.map(({ toMs }) => toMs));
  const totalMs = Math.max(durationMs, lastMs, firstByteMs ?? 0);
  const bookedMs = receipt.finishedAt === null ? totalMs : receipt.finishedAt - receipt.at;
  // An answer that is not streamed has no first token: it arrives with its attempt.
  const hasFirst =
    receipt.stream && firstByteMs !== null && placed.some(({ attempt }) => attempt.result === 'served');
  return {
    totalMs,
    steps: [
      admitted,
      ...placed.map(({ step }) => step),
      ...(hasFirst ? [{ kind: 'first', atMs: firstByteMs } as const] : []),
      { kind: 'ended', atMs: totalMs },
      { kind: 'settled', atMs: bookedMs > totalMs + LATE_MS ? bookedMs : totalMs },
    ],
    segments: segmentsOf(placed, hasFirst ? firstByteMs : undefined, totalMs),
  };
}

interface PlacedAttempt<Attempt> {
  readonly attempt: Attempt;
  readonly step: TimelineStep<Attempt>;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Attempts follow one another; the one that served ended with the first byte, so its beginning is exact. */
function placedAttempts<Attempt extends ReceiptAttempt>({
  attempts,
  firstByteMs,
}: {
  readonly attempts: readonly Attempt[];
  readonly firstByteMs: number | null;
}): PlacedAttempt<Attempt>[] {
  let endMs = 0;
  let made = 0;
  return attempts.map((attempt) => {
    const { result, durationMs, reason } = attempt;
    const retried = result === 'skipped' && reason?.startsWith(RETRY_OF) === true;
    const isServed = result === 'served' && firstByteMs !== null;
    const fromMs = isServed ? Math.max(endMs, firstByteMs - durationMs) : endMs;
    endMs = fromMs + durationMs;
    const number = result === 'skipped' ? undefined : ++made;
    const isAtLeast = made > 1 && !isServed;
    const step: TimelineStep<Attempt> = retried
      ? { kind: 'retry', atMs: fromMs, of: (reason ?? '').slice(RETRY_OF.length) }
      : { kind: 'attempt', atMs: fromMs, isAtLeast, number, attempt };
    return { attempt, step, fromMs, toMs: endMs };
  });
}

function segmentsOf(
  placed: readonly PlacedAttempt<ReceiptAttempt>[],
  firstMs: number | undefined,
  totalMs: number,
): TimelineSegment[] {
  const segments: TimelineSegment[] = [];
  let lastMs = 0;
  const add = (kind: TimelineSegment['kind'], fromMs: number, toMs: number): void => {
    if (fromMs > lastMs) segments.push({ kind: 'other', fromMs: lastMs, toMs: fromMs });
    if (toMs > fromMs) segments.push({ kind, fromMs, toMs });
    lastMs = Math.max(lastMs, toMs);
  };
  for (const { attempt, fromMs, toMs } of placed)
    if (attempt.result !== 'skipped') add(attempt.result === 'failed' ? 'failed' : 'waiting', fromMs, toMs);
  if (firstMs !== undefined) add('answer', Math.max(lastMs, firstMs), totalMs);
  if (totalMs > lastMs) add('other', lastMs, totalMs);
  return segments;
}
