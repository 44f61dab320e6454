import type { Generated } from 'kysely';

export interface ModelDaySchema {
  model_day: ModelDayTable;
}

/**
 * How requests for a model went, by the UTC day of their arrival, of all accounts together. Counted from receipts, and
 * kept when those leave. `model` '' is the sum over all models of the endpoint.
 */
export interface ModelDayTable {
  endpoint: string;
  model: string;
  /** yyyymmdd. */
  day: number;
  requests: Generated<number>;
  /** Those that failed for a reason of this server's or of a backend's. */
  failures: Generated<number>;
  /** JSON: how many streams had their first token, and images their end, within each of some times. */
  waits: Generated<string>;
  /** JSON: how many streams came at each of some speeds. */
  speeds: Generated<string>;
}
