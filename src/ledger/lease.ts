/** The name in the holds of this process, and how long they outlive it. */
export interface Lease {
  readonly node: string;
  readonly leaseMs: number;
}

/** For this long after its deadline, a process may still end the job and book what it may have cost. */
const ENDED_WITHIN_MS = 86_400_000;

/**
 * Whether a backend was asked to make images for the request of the hold `h`, or its answer is made in the background, as
 * SQL: another process continues the job, or ends it and books what it may have cost; the hold expires only if none does.
 * Counts, because a planner would join the tables for `EXISTS`, and this is asked about few holds.
 */
export function isAdoptable(now: string): string {
  return `((SELECT count(*) FROM image_job j
      WHERE j.id = h.id AND j.backend IS NOT NULL AND j.ended_at IS NULL
        AND j.deadline > ${now} - ${ENDED_WITHIN_MS})
    + (SELECT count(*) FROM stored_response r
      WHERE r.request_id = h.id AND r.state IN ('queued', 'in_progress')
        AND r.created_at > ${now} - ${ENDED_WITHIN_MS})) > 0`;
}
