/**
 * Every request paid for entering this index. The requests of a model are found by the days that had any, which the sums
 * of the days tell.
 */
export function fewerIndexes(): readonly string[] {
  return ['DROP INDEX IF EXISTS request_route'];
}
