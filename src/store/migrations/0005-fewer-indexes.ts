/**
 * Every request had to update this index. The requests of a model are found by the days that had any, which the daily sums
 * tell.
 */
export function fewerIndexes(): readonly string[] {
  return ['DROP INDEX IF EXISTS request_route'];
}
