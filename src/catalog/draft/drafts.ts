import type { Kysely } from 'kysely';
import type { Clock } from '../../std/clock.ts';
import type { Schema } from '../../store/schema.ts';

/** What one operator works on, and what it began with. */
export interface CatalogDraft {
  /** JSON, as pages change it; or YAML as it is typed, which need not be a catalog yet. */
  readonly text: string;
  /** What was published when it began, so that what changed since can be told apart from what was drafted. */
  readonly base: string;
  readonly revision: number;
  /** Changes with each save. */
  readonly tag: number;
}

/** Rows of `setting`: there are as many as operators with a draft, and each is deleted with its account. */
const PREFIX = 'catalog_draft:';

/** Written below, and by older nodes, whose texts are all YAML. */
interface DraftRow {
  readonly yaml: string;
  readonly base: string;
  readonly revision: number;
}

function draftKey(owner: string): string {
  return PREFIX + owner;
}

/** The drafts of the catalog, one for each operator. Nothing in them is in force. */
export class CatalogDrafts {
  readonly #db: Kysely<Schema>;
  readonly #clock: Clock;

  constructor(db: Kysely<Schema>, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async read(owner: string): Promise<CatalogDraft | undefined> {
    const row = await this.#db
      .selectFrom('setting')
      .select(['value', 'updated_at'])
      .where('key', '=', draftKey(owner))
      .executeTakeFirst();
    if (!row) return undefined;
    const { yaml: text, base, revision } = JSON.parse(row.value) as DraftRow;
    return { text, base, revision, tag: row.updated_at };
  }

  /**
   * Keeps a draft in place of the one with the tag `expected`, or of none. `undefined`: another page has saved a newer
   * one, which stays.
   */
  async save(
    owner: string,
    { text, base, revision }: Omit<CatalogDraft, 'tag'>,
    expected: number | undefined,
  ): Promise<number | undefined> {
    const value = JSON.stringify({ yaml: text, base, revision } satisfies DraftRow);
    const tag = Math.max(this.#clock.now(), (expected ?? 0) + 1);
    if (expected === undefined) {
      const made = await this.#db
        .insertInto('setting')
        .values({ key: draftKey(owner), value, updated_at: tag })
        .onConflict((conflict) => conflict.column('key').doNothing())
        .executeTakeFirst();
      return made.numInsertedOrUpdatedRows === 1n ? tag : undefined;
    }
    const changed = await this.#db
      .updateTable('setting')
      .set({ value, updated_at: tag })
      .where('key', '=', draftKey(owner))
      .where('updated_at', '=', expected)
      .executeTakeFirst();
    return changed.numUpdatedRows === 1n ? tag : undefined;
  }

  async remove(owner: string): Promise<void> {
    await this.#db.deleteFrom('setting').where('key', '=', draftKey(owner)).execute();
  }
}
