import type { Dialect } from '../dialect.ts';
import { requestViews } from './baseline-requests.ts';

/**
 * What is priced beside plain tokens and images, and what requests cost the operator. `extra` is the usage that has no
 * column. `owed` is price × usage so far of a running request, where SQL cannot compute it. `cost` is what the backend that
 * served takes, NULL while that is not known; `possible_cost` is what others may take for failed attempts. `costed` is what
 * was charged for requests whose cost is known.
 */
export function costs(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE hold ADD COLUMN extra TEXT`,
    `ALTER TABLE hold ADD COLUMN owed ${d.int64}`,
    `ALTER TABLE receipt ADD COLUMN extra TEXT`,
    `ALTER TABLE receipt ADD COLUMN cost ${d.int64}`,
    `ALTER TABLE receipt ADD COLUMN possible_cost ${d.int64} NOT NULL DEFAULT 0`,
    ...['cost', 'possible_cost', 'costed'].map((column) => addSum(d, 'usage_day', column)),
    ...['possible_cost', 'costed'].map((column) => addSum(d, 'backend_day', column)),
    ...['request', 'closed_request', 'running_request'].map((view) => `DROP VIEW ${view}`),
    ...requestViews(d, {
      names: ['extra', 'cost', 'possible_cost'],
      running: ['h.extra', `CAST(NULL AS ${d.int64})`, `CAST(0 AS ${d.int64})`],
      over: ['r.extra', 'r.cost', 'r.possible_cost'],
    }),
  ];
}

function addSum(d: Dialect, table: string, column: string): string {
  return `ALTER TABLE ${table} ADD COLUMN ${column} ${d.int64} NOT NULL DEFAULT 0`;
}
