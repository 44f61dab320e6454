const SETTINGS: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};

/**
 * Belongs to every function that looks up few rows by key in tables of any size. A plan made while a table was small must
 * not scan it when it has grown, and planning again for each call would cost more than the call. As part of the function
 * it holds on every connection, whoever opened it.
 */
export const LOOK_UP_BY_KEY = Object.entries(SETTINGS)
  .map(([name, value]) => `SET ${name} = ${value}`)
  .join(' ');

/** The same as calls that make the settings until the transaction ends, for a procedure that commits. */
export const LOOK_UP_BY_KEY_IN_TRANSACTION = Object.entries(SETTINGS)
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ');

/** The calendar of src/std/calendar.ts in SQL, by the database's clock: the only one that all nodes share. */

/** In microseconds. The offset is for tests. */
export function nowUsSql(offset: string): string {
  return `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + ${offset}`;
}

/** UTC, yyyymm. */
export function monthSql(ms: string): string {
  return `to_char(to_timestamp((${ms}) / 1000.0) AT TIME ZONE 'UTC', 'YYYYMM')::bigint`;
}

/** UTC, yyyymmdd. */
export function daySql(ms: string): string {
  return `to_char(to_timestamp((${ms}) / 1000.0) AT TIME ZONE 'UTC', 'YYYYMMDD')::bigint`;
}

/** When the period that contains a moment began; 1970 began on a Thursday. */
export function periodStartSql(per: string, ms: string): string {
  const month = `date_trunc('month', to_timestamp((${ms}) / 1000.0) AT TIME ZONE 'UTC')`;
  return `CASE ${per} WHEN 'day' THEN (${ms}) / 86400000 * 86400000
    WHEN 'week' THEN ((${ms}) / 86400000 - ((${ms}) / 86400000 + 3) % 7) * 86400000
    WHEN 'month' THEN (extract(epoch FROM ${month}) * 1000)::bigint ELSE 0 END`;
}
