/** Whose the holds of this process are, and how long they outlive it. */
export interface Lease {
  readonly node: string;
  readonly leaseMs: number;
}

/** So long after its deadline somebody may still come to end the job with what it may have cost. */
const ENDED_WITHIN_MS = 86_400_000;

/**
 * Whether the request of the hold `h` is one that a backend was asked to make images for, as SQL: another process goes on
 * with it, or ends it and books what it may have cost; only what nobody came for expires. A count, because a planner would
 * join the tables for `EXISTS`, and this is asked of few holds.
 */
export function isAdoptable(now: string): string {
  return `(SELECT count(*) FROM image_job j
      WHERE j.id = h.id AND j.backend IS NOT NULL AND j.ended_at IS NULL
        AND j.deadline > ${now} - ${ENDED_WITHIN_MS}) > 0`;
}
