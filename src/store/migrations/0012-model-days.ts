import type { Dialect } from '../dialect.ts';

/**
 * How requests for a model went on a day: how many there were, how many failed and not by the client's doing, and how fast
 * they were. Counted from receipts, which may leave before these rows do. `model` '' is the sum of the endpoint.
 */
export function modelDays(d: Dialect): readonly string[] {
  return [
    `CREATE TABLE model_day (
      endpoint TEXT NOT NULL,
      model TEXT NOT NULL,
      day ${d.int64} NOT NULL,
      requests ${d.int64} NOT NULL DEFAULT 0,
      failures ${d.int64} NOT NULL DEFAULT 0,
      waits TEXT NOT NULL DEFAULT '[]',
      speeds TEXT NOT NULL DEFAULT '[]',
      PRIMARY KEY (endpoint, model, day)
    )${d.clusteredByKey}`,
    `CREATE INDEX model_day_day ON model_day (day)`,
  ];
}
