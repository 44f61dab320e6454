import { randomUUID } from 'node:crypto';
import type { Database } from 'bun:sqlite';
import type { Client } from 'pg';
import { retryWhileBusy } from '../bun-sqlite.ts';
import type { ImageObjects } from '../image-objects.ts';
import { connectForSchema } from '../schema-lock.ts';
import type { PostgresBackend, SqliteBackend, Store } from '../store.ts';
import { compareSides, type Differences } from './compare.ts';
import { copyTables, inTransaction, type Copied, type CopyProgress } from './copy.ts';
import { MARK_KEY, readMark, writeMark, type MoveMark, type TargetMark } from './mark.ts';
import { MOVED } from './tables.ts';

/** An arbitrary number that only this lock uses. */
const TARGET_LOCK = 7_420_018;

/**
 * Makes this process the only one that moves something into the database, until it calls what this returns or loses its
 * connection; `undefined` when another one does. Two data folders must not begin there at once.
 */
export async function claimTarget(url: string): Promise<(() => Promise<void>) | undefined> {
  const client = await connectForSchema({ url }, 'tollgate move');
  const { rows } = await client.query<{ taken: boolean }>(
    `SELECT pg_try_advisory_lock(${TARGET_LOCK}) AS taken`,
  );
  if (rows[0]?.taken === true) return () => client.end();
  await client.end();
  return undefined;
}

/** Why nothing is moved, in one sentence. */
export class MoveRefusal extends Error {}

export interface MoveParts {
  /** Opened for the move, and claimed: no server uses the data folder. */
  readonly source: { readonly store: Store; readonly backend: SqliteBackend };
  readonly target: { readonly store: Store; readonly backend: PostgresBackend };
  /** The images that are files of the data folder. */
  readonly files: ImageObjects;
  /** Both sides for people, without a password. */
  readonly names: { readonly source: string; readonly target: string };
  readonly now: () => number;
  /** Writes to the data folder, in the transaction that begins a move; the row is moved with the others. */
  readonly record: (store: Pick<Store, 'db'>) => Promise<void>;
}

/**
 * A move of a data folder into an empty Postgres database. While it is under way neither of them can be opened by anybody
 * else; one that was interrupted is finished by running it again.
 */
export class Move {
  readonly #parts: MoveParts;
  readonly #mark: TargetMark;

  private constructor(parts: MoveParts, mark: TargetMark) {
    this.#parts = parts;
    this.#mark = mark;
  }

  /** Begins a move, or takes up the one that was interrupted. */
  static async open(parts: MoveParts): Promise<Move> {
    const client = await connectForSchema(parts.target.backend, 'tollgate move');
    try {
      return new Move(parts, (await interrupted(parts, client)) ?? (await begin(parts, client)));
    } finally {
      await client.end();
    }
  }

  get isResumed(): boolean {
    return this.#mark.done.length > 0 || this.#mark.part !== undefined;
  }

  /** Copies what is missing and compares both sides. No process can write to the data folder meanwhile. */
  async copyAndCompare(
    report: (progress: CopyProgress) => void,
  ): Promise<Copied & { differences: Differences }> {
    const { files } = this.#parts;
    return await this.#withBoth(async (source, target) => {
      const copied = await copyTables({ source, target, files }, this.#mark, report);
      // The planner of a database that has just been filled knows nothing about it.
      for (const { name } of MOVED) await target.query(`VACUUM (ANALYZE) "${name}"`);
      return { ...copied, differences: await compareSides(source, target) };
    });
  }

  /** First the data folder: between the two steps neither side can be opened, and running the move again does the rest. */
  async finish(): Promise<void> {
    const { source, target, names, now } = this.#parts;
    const { id, from } = this.#mark;
    const finishedAt = now();
    await writeMark(source.store.db, { side: 'source', id, to: names.target, finishedAt }, finishedAt);
    await source.store.durable();
    const done = MOVED.map(({ name }) => name);
    await writeMark(target.store.db, { side: 'target', id, from, done, finishedAt }, finishedAt);
  }

  async #withBoth<T>(work: (source: Database, target: Client) => Promise<T>): Promise<T> {
    const source = this.#parts.source.backend.open();
    try {
      const target = await connectForSchema(this.#parts.target.backend, 'tollgate move');
      try {
        await retryWhileBusy(() => source.run('BEGIN IMMEDIATE'));
        return await work(source, target);
      } finally {
        await target.end();
      }
    } finally {
      source.close();
    }
  }
}

/** How far the move came that both sides know; `undefined`: none was begun, or what was begun is gone from the database. */
async function interrupted({ source, names }: MoveParts, client: Client): Promise<TargetMark | undefined> {
  const ours = await readMark(source.store.db);
  // Locked, it is what a batch that is still under way leaves.
  const { rows } = await client.query<{ value: string }>(
    `SELECT value FROM setting WHERE key = '${MARK_KEY}' FOR UPDATE`,
  );
  // Only a move writes the row.
  const theirs = rows[0] && (JSON.parse(rows[0].value) as MoveMark);
  if (theirs?.side === 'target' && theirs.id === ours?.id && theirs.finishedAt === undefined) return theirs;
  if (ours?.side === 'source' && ours.finishedAt !== undefined)
    throw new MoveRefusal(
      `This data folder was moved to ${ours.to} already. To move it once more, to ${names.target}, stop every node there and run \`tollgate move --undo --yes\` first.`,
    );
  return undefined;
}

/** Marks both sides; the data folder first, so that nothing changes there from then on. */
async function begin({ source, names, now, record }: MoveParts, client: Client): Promise<TargetMark> {
  const id = randomUUID();
  const mark: TargetMark = { side: 'target', id, from: names.source, done: [] };
  await refuseRows(client, names.target);
  await source.store.db.transaction().execute(async (db) => {
    await writeMark(db, { side: 'source', id, to: names.target }, now());
    await record({ db });
  });
  await source.store.durable();
  await inTransaction(client, async () => {
    await refuseRows(client, names.target);
    for (const { name, madeBySchema } of MOVED)
      if (madeBySchema !== undefined) await client.query(`DELETE FROM "${name}" WHERE ${madeBySchema}`);
    await client.query('INSERT INTO setting (key, value, updated_at) VALUES ($1, $2, $3)', [
      MARK_KEY,
      JSON.stringify(mark),
      now(),
    ]);
  });
  return mark;
}

async function refuseRows(client: Client, target: string): Promise<void> {
  const looks = MOVED.map(
    ({ name, madeBySchema = 'FALSE' }) =>
      `SELECT '${name}' AS name WHERE EXISTS (SELECT 1 FROM "${name}" WHERE NOT (${madeBySchema}))`,
  );
  const { rows } = await client.query<{ name: string }>(looks.join(' UNION ALL '));
  if (rows.length === 0) return;
  throw new MoveRefusal(
    `${target} is not empty: it has rows in ${rows.map(({ name }) => name).join(', ')}. Give the data folder a database of its own; \`dropdb\` and \`createdb\` empty one.`,
  );
}
