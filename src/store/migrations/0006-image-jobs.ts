import type { Dialect } from '../dialect.ts';

/**
 * Image requests that are answered before they are done. `id` is the request's, whose hold is the job's; `backend_job` is
 * what another process needs to go on with it at the backend, until `deadline`. A job that has ended keeps no request.
 */
export function imageJobs(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE image_job (
      id ${d.byteOrderedText} PRIMARY KEY,
      account_id TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
      request TEXT,
      backend TEXT,
      backend_job TEXT,
      deadline ${d.int64} NOT NULL,
      result TEXT,
      error TEXT,
      created_at ${d.int64} NOT NULL,
      ended_at ${d.int64}
    )`,
    `CREATE INDEX image_job_open ON image_job (deadline) WHERE ended_at IS NULL`,
    `CREATE INDEX image_job_ended ON image_job (ended_at) WHERE ended_at IS NOT NULL`,
    `CREATE INDEX image_job_account ON image_job (account_id, id)`,
  ];
}
