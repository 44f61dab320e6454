import { sql, type Transaction } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { EVERYBODY } from './decide.ts';

/** What a provider billed on one day, in nano-USD, by its own names of models. */
interface ProviderBill {
  /** yyyymmdd. */
  readonly day: number;
  readonly amounts: ReadonlyMap<string, number>;
  /** The name under which a backend bills one of our models; `undefined`: it is not of this provider. */
  readonly nameOf: (backend: string, model: string) => string | undefined;
  /** Which bill it is, and who books it when. */
  readonly cause: string;
  readonly actor: string;
  readonly at: number;
}

/** The failed attempts of one name in a bill: what all of them could have cost, and what they did cost. */
export interface BilledAttempts {
  readonly name: string;
  readonly atMost: number;
  readonly billed: number;
}

/**
 * Turns possible costs into known ones: what a provider billed beyond the costs in our books was for attempts that
 * failed, up to what these can have cost. It is booked once, however often the same bill is, and another bill for the
 * same day replaces it. Receipts stay as they are: a bill does not say which request it is for.
 */
export async function bookBill(
  { db, backend }: Pick<Store, 'db' | 'backend'>,
  bill: ProviderBill,
): Promise<BilledAttempts[]> {
  return await db.transaction().execute(async (tx) => {
    const { day } = bill;
    const isLocking = backend.kind === 'postgres';
    // Locked in the order in which requests lock them. SQLite needs no locks: its transactions run one after the other.
    const usage = await tx
      .selectFrom('usage_day')
      .select(['endpoint', 'model', 'cost', 'possible_cost'])
      .where('account_id', '=', EVERYBODY)
      .where('day', '=', day)
      .orderBy('endpoint')
      .orderBy('model')
      .$if(isLocking, (query) => query.forUpdate())
      .execute();
    const routes = await billedRoutes(tx, bill, isLocking);
    const usageOf = Map.groupBy(usage, ({ model }) => model);
    const routesOf = Map.groupBy(routes, ({ name }) => name);
    const booked: BilledAttempts[] = [];
    for (const [name, amount] of bill.amounts) {
      const own = routesOf.get(name) ?? [];
      const { atMost, billed } = billedOf(amount, own);
      if (atMost === 0) continue;
      booked.push({ name, atMost, billed });
      for (const change of changesOf(own, { atMost, billed }))
        await book(tx, bill, change, usageOf.get(change.model) ?? []);
    }
    return booked;
  });
}

/** The endpoint under which the sums of all endpoints are kept. */
const EVERY_ENDPOINT = '';

/** A backend's sums of a day for one of our models. */
interface BilledRoute {
  readonly name: string;
  readonly backend: string;
  readonly model: string;
  /** The known cost, including what was booked from earlier bills. */
  readonly cost: number;
  readonly billed: number;
  /** The cost that is still only possible, and what all failed attempts could have cost. */
  readonly open: number;
  readonly atMost: number;
}

async function billedRoutes(
  tx: Transaction<Schema>,
  { day, nameOf }: ProviderBill,
  isLocking: boolean,
): Promise<BilledRoute[]> {
  const sums = await tx
    .selectFrom('backend_day')
    .select(['backend', 'model', 'cost', 'possible_cost'])
    .where('day', '=', day)
    .orderBy('backend')
    .orderBy('model')
    .$if(isLocking, (query) => query.forUpdate())
    .execute();
  const entries = await tx
    .selectFrom('cost_entry')
    .select(['backend', 'model', 'cost', 'possible_cost'])
    .where('day', '=', day)
    .execute();
  const before = Map.groupBy(entries, ({ backend, model }) => JSON.stringify([backend, model]));
  return sums.flatMap(({ backend, model, cost, possible_cost: open }) => {
    const name = nameOf(backend, model);
    if (name === undefined) return [];
    const own = before.get(JSON.stringify([backend, model])) ?? [];
    const billed = own.reduce((sum, entry) => sum + entry.cost, 0);
    const atMost = own.reduce((sum, entry) => sum - entry.possible_cost, open);
    return [{ name, backend, model, cost, billed, open, atMost }];
  });
}

function billedOf(
  amount: number,
  routes: readonly BilledRoute[],
): { readonly atMost: number; readonly billed: number } {
  const atMost = routes.reduce((sum, route) => sum + route.atMost, 0);
  const known = routes.reduce((sum, route) => sum + route.cost - route.billed, 0);
  return { atMost, billed: Math.min(Math.max(0, amount - known), atMost) };
}

/** What is added to the sums of a day. */
interface SumChange {
  readonly cost: number;
  readonly possible: number;
}

interface RouteChange extends SumChange {
  readonly backend: string;
  readonly model: string;
}

/** Each route gets its share by what its attempts could have cost, to the last nano-dollar. */
function changesOf(
  routes: readonly BilledRoute[],
  { atMost, billed }: { readonly atMost: number; readonly billed: number },
): RouteChange[] {
  const upTo = (part: number): number => Number((BigInt(part) * BigInt(billed)) / BigInt(atMost));
  let before = 0;
  return routes.flatMap((route) => {
    const share = upTo(before + route.atMost) - upTo(before);
    before += route.atMost;
    if (share === route.billed && route.open === 0) return [];
    const { backend, model } = route;
    return [{ backend, model, cost: share - route.billed, possible: 0 - route.open }];
  });
}

interface UsageSum {
  readonly endpoint: string;
  cost: number;
  possible_cost: number;
}

async function book(
  tx: Transaction<Schema>,
  { day, cause, actor, at }: ProviderBill,
  change: RouteChange,
  usage: readonly UsageSum[],
): Promise<void> {
  const { backend, model, cost, possible } = change;
  await tx
    .insertInto('cost_entry')
    .values({ day, backend, model, cost, possible_cost: possible, cause, actor, created_at: at })
    .execute();
  for (const [endpoint, part] of byEndpoint(usage, change)) {
    const account_id = EVERYBODY;
    await add(tx, 'usage_day', { account_id, day, endpoint, model }, part);
    // Only where the day is added up already; otherwise it will be, from the rows above.
    await add(tx, 'usage_total', { account_id, day, endpoint }, part);
    await add(tx, 'usage_total', { account_id, day, endpoint: EVERY_ENDPOINT }, part);
  }
  await add(tx, 'backend_day', { day, backend, model }, change);
}

/**
 * A bill does not know endpoints: what is no longer possible goes where it was, and the cost to the first of these. No sum
 * falls below zero. The sums are changed here as they will be in the database.
 */
function byEndpoint(usage: readonly UsageSum[], { cost, possible }: SumChange): Map<string, SumChange> {
  const changes = new Map<string, SumChange>();
  const change = (row: UsageSum, part: SumChange): void => {
    row.cost += part.cost;
    row.possible_cost += part.possible;
    const before = changes.get(row.endpoint) ?? { cost: 0, possible: 0 };
    changes.set(row.endpoint, {
      cost: before.cost + part.cost,
      possible: before.possible + part.possible,
    });
  };
  const first = usage.find((row) => row.possible_cost > 0) ?? usage[0];
  if (first && cost > 0) change(first, { cost, possible: 0 });
  let [lessCost, lessPossible] = [Math.max(0, -cost), -possible];
  for (const row of usage) {
    const part = { cost: Math.min(row.cost, lessCost), possible: Math.min(row.possible_cost, lessPossible) };
    lessCost -= part.cost;
    lessPossible -= part.possible;
    if (part.cost > 0 || part.possible > 0) change(row, { cost: -part.cost, possible: -part.possible });
  }
  return changes;
}

async function add(
  tx: Transaction<Schema>,
  table: 'usage_day' | 'backend_day' | 'usage_total',
  key: Readonly<Record<string, string | number>>,
  { cost, possible }: SumChange,
): Promise<void> {
  const isRow = Object.entries(key).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  await sql`UPDATE ${sql.table(table)} SET cost = cost + ${cost}, possible_cost = possible_cost + ${possible}
    WHERE ${sql.join(isRow, sql` AND `)}`.execute(tx);
}
