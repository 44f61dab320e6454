import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { CatalogPlanTable } from '../store/schema-services.ts';
import type { Catalog, Model } from './catalog.ts';
import { storedText, type CatalogMap } from './catalog-data.ts';
import { mergeCatalogs } from './draft/merge.ts';
import { catalogFor } from './groups.ts';
import { catalogData } from './parse.ts';
import { priceRows, serviceTiers } from './price-rows.ts';

/** A catalog that takes effect at a moment, on all nodes at once. */
export interface CatalogPlan {
  readonly id: number;
  /** By the store's clock. */
  readonly from: number;
  readonly madeAt: number;
  readonly actor: string;
  readonly note: string;
  /** JSON, as what is published is. */
  readonly text: string;
  /** What it changes: what was published when it was made, or has been published since. */
  readonly base: string;
  /** Changes with the text. */
  readonly tag: number;
  readonly state: 'waiting' | 'published' | 'cancelled';
  readonly endedAt: number | undefined;
  readonly endedBy: string | undefined;
  /** The version that it became. */
  readonly version: number | undefined;
}

export type NewPlan = Pick<CatalogPlan, 'from' | 'madeAt' | 'actor' | 'note' | 'text' | 'base'>;
type Known = Pick<CatalogPlan, 'id' | 'tag'>;

/**
 * A node that has not heard from the store for {@link KNOWN_MS} sells nothing before it has. A plan is at least
 * {@link LEAD_MS} ahead, so it is known wherever something is sold, also if a write takes seconds.
 */
export const KNOWN_MS = 30_000;
export const LEAD_MS = 60_000;
export const MAX_AHEAD_MS = 366 * 86_400_000;
const MAX_PAGE = 100;

/** The table `catalog_plan`. At most one plan waits; those that are over stay as its history. */
export class CatalogPlans {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  waiting(db: Kysely<Schema> = this.#db): Promise<CatalogPlan | undefined> {
    return db
      .selectFrom('catalog_plan')
      .selectAll()
      .where('state', '=', 'waiting')
      .executeTakeFirst()
      .then((row) => row && planOf(row));
  }

  /** The newest first, without what they say. */
  async list(): Promise<Omit<CatalogPlan, 'text' | 'base'>[]> {
    const rows = await this.#db
      .selectFrom('catalog_plan')
      .select([
        'id',
        'from_at',
        'made_at',
        'actor',
        'note',
        'tag',
        'state',
        'ended_at',
        'ended_by',
        'version',
      ])
      .orderBy('id', 'desc')
      .limit(MAX_PAGE)
      .execute();
    return rows.map(planOf);
  }

  /** Plans that wait, or ended after a moment, the oldest first. */
  async since(moment: number): Promise<CatalogPlan[]> {
    const rows = await this.#db
      .selectFrom('catalog_plan')
      .selectAll()
      .where((where) => where.or([where('state', '=', 'waiting'), where('ended_at', '>', moment)]))
      .orderBy('id')
      .limit(MAX_PAGE)
      .execute();
    return rows.map(planOf);
  }

  /** False: another one waits. */
  async add(tx: Transaction<Schema>, { from, madeAt, ...plan }: NewPlan): Promise<boolean> {
    if (await this.waiting(tx)) return false;
    const row = { ...plan, from_at: from, made_at: madeAt, tag: 0, state: 'waiting' } as const;
    await tx.insertInto('catalog_plan').values(row).execute();
    return true;
  }

  /** Puts the waiting plan on top of another publication. False: it is not the plan that was known. */
  async follow(tx: Transaction<Schema>, known: CatalogPlan | undefined): Promise<boolean> {
    if (!known) return (await this.waiting(tx)) === undefined;
    const { id, tag, text, base } = known;
    return await this.#change(tx, { id, tag }, { text, base, tag: tag + 1 });
  }

  /** False: it was changed, cancelled or published meanwhile. */
  async publish(tx: Transaction<Schema>, plan: Known, now: number): Promise<boolean> {
    return await this.#change(tx, plan, { state: 'published', ended_at: now });
  }

  async publishedAs(tx: Transaction<Schema>, { id }: Known, version: number): Promise<void> {
    await tx.updateTable('catalog_plan').set({ version }).where('id', '=', id).execute();
  }

  async cancel(id: number, by: { readonly actor: string; readonly now: number }): Promise<boolean> {
    return await this.#change(this.#db, { id }, { state: 'cancelled', ended_at: by.now, ended_by: by.actor });
  }

  async #change(
    db: Kysely<Schema>,
    { id, tag }: { readonly id: number; readonly tag?: number },
    values: Partial<Selectable<CatalogPlanTable>>,
  ): Promise<boolean> {
    let change = db
      .updateTable('catalog_plan')
      .set(values)
      .where('id', '=', id)
      .where('state', '=', 'waiting');
    if (tag !== undefined) change = change.where('tag', '=', tag);
    const { numUpdatedRows } = await change.executeTakeFirst();
    return numUpdatedRows === 1n;
  }
}

function planOf<Row extends Omit<Selectable<CatalogPlanTable>, 'text' | 'base'>>(row: Row) {
  const { from_at, made_at, ended_at, ended_by, version, ...same } = row;
  return {
    ...same,
    from: from_at,
    madeAt: made_at,
    endedAt: ended_at ?? undefined,
    endedBy: ended_by ?? undefined,
    version: version ?? undefined,
  };
}

/** The plan on top of what is published instead of its base, or what both have changed. */
export function rebased(
  plan: CatalogPlan,
  published: CatalogMap,
): CatalogPlan | { readonly conflicts: readonly string[] } {
  const [base = {}, mine = {}] = [plan.base, plan.text].map(catalogData);
  const { merged, conflicts } = mergeCatalogs({ base, mine, theirs: published });
  return conflicts.length > 0
    ? { conflicts }
    : { ...plan, base: storedText(published), text: storedText(merged) };
}

/** The built-in catalog has more models with another key, and no version: what was planned on top of it follows it. */
export function overBuiltin(
  plan: CatalogPlan,
  { version, json }: { readonly version: number; readonly json: string },
): CatalogPlan {
  if (version > 0 || plan.base === json) return plan;
  const moved = rebased(plan, catalogData(json) ?? {});
  return 'conflicts' in moved ? plan : moved;
}

/** How a model's price changes for customers. */
export interface PriceChange {
  readonly endpoint: string;
  readonly model: string;
  readonly name: string;
  /** Absent: it is new. */
  readonly before: Model | undefined;
  /** Absent: it is gone. */
  readonly after: Model | undefined;
}

/** The models whose prices change, that come or that go, as a price group sees them. */
export function priceChanges(before: Catalog, after: Catalog, group?: string): PriceChange[] {
  const [was, is] = [soldIn(catalogFor(before, group)), soldIn(catalogFor(after, group))];
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((key): PriceChange[] => {
    const [old, now] = [was.get(key), is.get(key)];
    const shown = now ?? old;
    if (!shown || (old && now && isSamePrice(old.model, now.model))) return [];
    const { endpoint, model } = shown;
    return [{ endpoint, model: model.id, name: model.displayName, before: old?.model, after: now?.model }];
  });
}

function soldIn({ endpoints }: Catalog): Map<string, { readonly endpoint: string; readonly model: Model }> {
  return new Map(
    [...endpoints.values()]
      .filter(({ unavailable }) => unavailable === undefined)
      .flatMap(({ code, models }) =>
        models.map((model) => [`${code}/${model.id}`, { endpoint: code, model }] as const),
      ),
  );
}

function isSamePrice(one: Model, other: Model): boolean {
  const facts = (model: Model) => [model.free, priceRows(model), serviceTiers(model)];
  return Bun.deepEquals(facts(one), facts(other));
}
