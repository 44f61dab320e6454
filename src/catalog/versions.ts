import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { Schema } from '../store/schema.ts';

export interface CatalogVersion {
  readonly id: number;
  readonly createdAt: number;
  readonly actor: string;
  readonly note: string;
}

export interface CatalogVersionDetail extends CatalogVersion {
  /** JSON; or YAML, of versions from before the catalog was stored as data. */
  readonly text: string;
}

export interface NewVersion {
  readonly text: string;
  readonly actor: string;
  readonly note: string;
}

/** Points to the newest version. A save moves it on from the version that the editor started with. */
const POINTER = 'catalog_version';
const MAX_PAGE = 200;

/** Every catalog that was ever saved, in the table `catalog_version`. */
export class CatalogVersions {
  readonly #db: Kysely<Schema>;
  readonly #clock: Clock;

  constructor(db: Kysely<Schema>, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** 0 if none was ever saved. */
  async newestId(): Promise<number> {
    const row = await this.#db
      .selectFrom('catalog_version')
      .select('id')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row?.id ?? 0;
  }

  /** Newest first, `before` one id. */
  async list({
    before,
    limit = 50,
  }: { before?: number | undefined; limit?: number | undefined } = {}): Promise<CatalogVersion[]> {
    let query = this.#db.selectFrom('catalog_version').select(['id', 'created_at', 'actor', 'note']);
    if (before !== undefined) query = query.where('id', '<', before);
    const rows = await query
      .orderBy('id', 'desc')
      .limit(Math.min(Math.max(limit, 1), MAX_PAGE))
      .execute();
    return rows.map(({ id, created_at, actor, note }) => ({
      id,
      createdAt: created_at,
      actor,
      note,
    }));
  }

  async at(id: number): Promise<CatalogVersionDetail | undefined> {
    const row = await this.#db
      .selectFrom('catalog_version')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    return (
      row && {
        id: row.id,
        createdAt: row.created_at,
        actor: row.actor,
        note: row.note,
        text: row.yaml,
      }
    );
  }

  /**
   * Adds versions after `expected`, all or none; `undefined` if another save was faster, or if `beside` says no. Both saves
   * update the pointer row: the second waits for the first and then finds that the row has changed, on both databases.
   */
  async add(
    versions: readonly NewVersion[],
    expected: number,
    beside?: DoneBeside,
  ): Promise<number | undefined> {
    try {
      return await this.#db
        .transaction()
        .execute((transaction) => this.#add(transaction, { versions, expected, beside }));
    } catch (error) {
      if (error instanceof Overtaken) return undefined;
      throw error;
    }
  }

  async #add(
    transaction: Transaction<Schema>,
    { versions, expected, beside }: Addition,
  ): Promise<number | undefined> {
    const now = this.#clock.now();
    await transaction
      .insertInto('setting')
      .values({ key: POINTER, value: '0', updated_at: now })
      .onConflict((conflict) => conflict.column('key').doNothing())
      .execute();
    const pointer = transaction.updateTable('setting').where('key', '=', POINTER);
    const moved = await pointer
      .set({ value: 'moving', updated_at: now })
      .where('value', '=', String(expected))
      .executeTakeFirstOrThrow();
    if (moved.numUpdatedRows !== 1n) return undefined;
    // The pointer must go back to where it was.
    if (beside && !(await beside.begin(transaction))) throw new Overtaken();
    let newest = expected;
    for (const { text, actor, note } of versions) {
      // Named in the days when it was YAML; older nodes read it.
      const row = { created_at: now, actor, note, yaml: text };
      const { id } = await transaction
        .insertInto('catalog_version')
        .values(row)
        .returning('id')
        .executeTakeFirstOrThrow();
      newest = id;
    }
    await pointer.set({ value: String(newest), updated_at: now }).execute();
    await beside?.end?.(transaction, newest);
    return newest;
  }
}

interface Addition {
  readonly versions: readonly NewVersion[];
  readonly expected: number;
  readonly beside: DoneBeside | undefined;
}

/** What is done in the same transaction. */
interface DoneBeside {
  /** False: the transaction is given up. */
  begin(tx: Transaction<Schema>): Promise<boolean>;
  end?(tx: Transaction<Schema>, newest: number): Promise<void>;
}

class Overtaken extends Error {}
