/**
 * Whether the request of the hold `h` is a job that another process can go on with, as SQL: its backend has given the job
 * an id, and the deadline is not over. A count, because a planner would join the tables for `EXISTS`, and this is asked of
 * few holds.
 */
export function isAdoptable(now: string): string {
  return `(SELECT count(*) FROM image_job j
      WHERE j.id = h.id AND j.backend_job IS NOT NULL AND j.ended_at IS NULL AND j.deadline > ${now}) > 0`;
}
