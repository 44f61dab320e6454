import { sql, type Kysely, type Selectable } from 'kysely';
import { priceFromText } from '../ledger/price.ts';
import { DAY_MS, dayStart } from '../std/calendar.ts';
import { requestIdAt } from '../std/ids.ts';
import type { BackendDayTable, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { Reader } from './reader.ts';

export const MARGIN_GROUPS = ['day', 'model', 'backend', 'group'] as const;
export type MarginGroup = (typeof MARGIN_GROUPS)[number];

/** What requests brought and cost, in nano-USD. */
export interface MarginRow {
  /** The day (yyyymmdd), model, backend or price group. */
  readonly key: string;
  readonly requests: number;
  readonly charged: number;
  /** The part of it that was charged for requests whose cost is known. */
  readonly costed: number;
  readonly cost: number;
  /** What failed attempts may cost. */
  readonly possibleCost: number;
  /** Over the requests whose cost is known, if every possible cost is billed. */
  readonly margin: number;
}

interface DayRange {
  readonly from: number;
  readonly to: number;
}

interface Parts {
  readonly store: Pick<Store, 'db' | 'backend'>;
  readonly reader: Pick<Reader, 'all'>;
}

/** From the sums of the days, both included; what cost most first. */
export async function marginRows(parts: Parts, range: DayRange, group: MarginGroup): Promise<MarginRow[]> {
  return (await marginGroups(parts, range))[group];
}

/** In every grouping. With thousands of models, reading all sums once more for each of them takes too long. */
export async function marginGroups(parts: Parts, range: DayRange): Promise<Record<MarginGroup, MarginRow[]>> {
  const { days, routes } = await (parts.store.backend.kind === 'postgres' ? readOnce : readTwice)(
    parts,
    range,
  );
  const groups = await priceGroupSums(parts, range);
  return {
    day: mergedBy(days, ({ day }) => String(day)),
    model: mergedBy(routes, ({ model }) => model),
    backend: mergedBy(routes, ({ backend }) => backend),
    group: mergedBy(groups, ({ group }) => group),
  };
}

/** Of wallets in price groups, from the receipts that are kept: no sum is written for what few servers have. */
async function priceGroupSums(
  { store: { db }, reader }: Parts,
  { from, to }: DayRange,
): Promise<readonly (Sums & { readonly group: string })[]> {
  const prices = await reader.all(
    db.selectFrom('price').select(['id', 'value']).where('value', 'like', GROUPED),
  );
  if (prices.length === 0) return [];
  const fromMs = dayStart(from);
  const rows = await reader.all(
    db
      .selectFrom('receipt')
      .select([
        'price',
        sql<number>`CAST(count(*) AS BIGINT)`.as('requests'),
        sql<number>`CAST(sum(charged) AS BIGINT)`.as('charged'),
        sql<number>`CAST(sum(CASE WHEN cost IS NULL THEN 0 ELSE charged END) AS BIGINT)`.as('costed'),
        sql<number>`CAST(coalesce(sum(cost), 0) AS BIGINT)`.as('cost'),
        sql<number>`CAST(sum(possible_cost) AS BIGINT)`.as('possible_cost'),
      ])
      .where(sql<boolean>`price IN (SELECT id FROM price WHERE value LIKE ${GROUPED})`)
      // Ids begin with their time, by the clock of a node.
      .where('id', '>=', requestIdAt(fromMs - DAY_MS))
      .where('created_at', '>=', fromMs)
      .where('created_at', '<', dayStart(to) + DAY_MS)
      .groupBy('price'),
  );
  const groupOf = new Map(prices.map(({ id, value }) => [id, priceFromText(value).group ?? '']));
  return rows.map((row) => ({ ...row, group: groupOf.get(row.price) ?? '' }));
}

const GROUPED = '%"group":%';

interface SummedDays {
  readonly days: readonly (Sums & Pick<BackendDayRow, 'day'>)[];
  readonly routes: readonly (Sums & Pick<BackendDayRow, 'backend' | 'model'>)[];
}

/** Two queries at once would be six processes of Postgres, each of which reads a part of the table. */
async function readOnce({ store, reader }: Parts, range: DayRange): Promise<SummedDays> {
  const rows = await reader.all(
    sumsBetween(store.db, range)
      .select(['day', 'backend', 'model'])
      .groupBy(sql`GROUPING SETS ((day), (backend, model))`)
      // A column that a row is not grouped by is null.
      .$castTo<Sums & ({ day: number } | ({ day: null } & Pick<BackendDayRow, 'backend' | 'model'>))>(),
  );
  return {
    days: rows.filter((row) => row.day !== null),
    routes: rows.filter((row) => row.day === null),
  };
}

/** SQLite has no grouping sets. */
async function readTwice({ store, reader }: Parts, range: DayRange): Promise<SummedDays> {
  const sums = sumsBetween(store.db, range);
  const [days, routes] = await Promise.all([
    reader.all(sums.select('day').groupBy('day')),
    reader.all(sums.select(['backend', 'model']).groupBy(['backend', 'model'])),
  ]);
  return { days, routes };
}

function sumsBetween(db: Kysely<Schema>, { from, to }: DayRange) {
  return db
    .selectFrom('backend_day')
    .select(
      (['requests', 'charged', 'costed', 'cost', 'possible_cost'] as const).map((name) =>
        sql<number>`CAST(sum(${sql.ref(name)}) AS BIGINT)`.as(name),
      ),
    )
    .where('day', '>=', from)
    .where('day', '<=', to);
}

type Sums = Pick<BackendDayRow, 'requests' | 'charged' | 'costed' | 'cost' | 'possible_cost'>;
type BackendDayRow = Selectable<BackendDayTable>;

function mergedBy<Row extends Sums>(rows: readonly Row[], keyOf: (row: Row) => string): MarginRow[] {
  const merged = new Map<string, MarginRow>();
  for (const row of rows) {
    const key = keyOf(row);
    const before = merged.get(key) ?? { key, ...NOTHING };
    const costed = before.costed + row.costed;
    const cost = before.cost + row.cost;
    const possibleCost = before.possibleCost + row.possible_cost;
    merged.set(key, {
      key,
      requests: before.requests + row.requests,
      charged: before.charged + row.charged,
      costed,
      cost,
      possibleCost,
      margin: costed - cost - possibleCost,
    });
  }
  return [...merged.values()].toSorted((a, b) => b.cost - a.cost || (a.key < b.key ? -1 : 1));
}

const NOTHING = { requests: 0, charged: 0, costed: 0, cost: 0, possibleCost: 0, margin: 0 };

/** Requests on which the operator lost money, the latest first. */
export function losses(db: Kysely<Schema>, most: number) {
  return (
    db
      .selectFrom('closed_request')
      .select(['id', 'model', 'upstream', 'charged', 'cost', 'possible_cost'])
      // The condition of an index, in the same words.
      .where(sql<boolean>`coalesce(cost, 0) + possible_cost > charged`)
      .orderBy('id', 'desc')
      .limit(most)
  );
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
