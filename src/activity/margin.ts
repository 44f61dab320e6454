import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';

export const MARGIN_GROUPS = ['day', 'model', 'backend'] as const;
export type MarginGroup = (typeof MARGIN_GROUPS)[number];

/** What requests brought and cost, in nano-USD. */
export interface MarginRow {
  /** The day (yyyymmdd), model or backend. */
  readonly key: string;
  readonly requests: number;
  readonly charged: number;
  /** Of this, what was charged for requests whose cost is known. */
  readonly costed: number;
  readonly cost: number;
  /** What failed attempts may cost. */
  readonly possibleCost: number;
  /** Of the requests whose cost is known, if everything that is possible is billed. */
  readonly margin: number;
}

/** From the sums of the days, both included. */
export async function marginRows(
  db: Kysely<Schema>,
  { from, to }: { readonly from: number; readonly to: number },
  group: MarginGroup,
): Promise<MarginRow[]> {
  const rows = await db
    .selectFrom('backend_day')
    .select(group)
    .select(({ fn }) => [
      fn.sum<number | string>('requests').as('requests'),
      fn.sum<number | string>('charged').as('charged'),
      fn.sum<number | string>('costed').as('costed'),
      fn.sum<number | string>('cost').as('cost'),
      fn.sum<number | string>('possible_cost').as('possible'),
    ])
    .where('day', '>=', from)
    .where('day', '<=', to)
    .groupBy(group)
    .orderBy(sql`5`, 'desc')
    .execute();
  return rows.map((row) => {
    const [costed, cost, possibleCost] = [Number(row.costed), Number(row.cost), Number(row.possible)];
    return {
      key: String(row[group]),
      requests: Number(row.requests),
      charged: Number(row.charged),
      costed,
      cost,
      possibleCost,
      margin: costed - cost - possibleCost,
    };
  });
}

/** Requests on which the operator lost money, the latest first. */
export function losses(db: Kysely<Schema>, most: number) {
  return db
    .selectFrom('closed_request')
    .select(['id', 'model', 'upstream', 'charged', 'cost', 'possible_cost'])
    .where(sql<boolean>`coalesce(cost, 0) + possible_cost > charged`)
    .orderBy('id', 'desc')
    .limit(most);
}

/** What each backend has cost on a day, in nano-USD, with what failed attempts may cost. */
export async function backendCosts(db: Kysely<Schema>, day: number): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('backend_day')
    .select(['backend', sql<number | string>`sum(cost + possible_cost)`.as('spent')])
    .where('day', '=', day)
    .groupBy('backend')
    .execute();
  return new Map(rows.map(({ backend, spent }) => [backend, Number(spent)]));
}
