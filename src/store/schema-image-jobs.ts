import type { ColumnType } from 'kysely';

/** May be left out of an insert; absent means NULL. */
type Nullable<T> = ColumnType<T | null, T | null | undefined, T | null>;

export interface ImageJobSchema {
  image_job: ImageJobTable;
}

/** An image request that is answered before it is done; its id is the request's. */
export interface ImageJobTable {
  id: string;
  account_id: string;
  state: ImageJobState;
  /** JSON of what another process needs to know of the request; absent once the job has ended. */
  request: Nullable<string>;
  backend: Nullable<string>;
  /** What the backend's own job is; absent if it has none. */
  backend_job: Nullable<string>;
  deadline: number;
  /** JSON of the images that were stored. */
  result: Nullable<string>;
  /** JSON of a failure, in the public shape. */
  error: Nullable<string>;
  created_at: number;
  ended_at: Nullable<number>;
}

export type ImageJobState = 'queued' | 'running' | 'done' | 'failed';
