import type { Database } from 'bun:sqlite';
import type { Kysely } from 'kysely';
import { StartupError } from '../../std/startup-error.ts';
import type { Schema } from '../schema.ts';

/** What each side of a move knows about it: a row of its settings. */
export type MoveMark = SourceMark | TargetMark;

interface SourceMark {
  readonly side: 'source';
  /** The same on both sides. */
  readonly id: string;
  /** The other side, for people. */
  readonly to: string;
  readonly finishedAt?: number | undefined;
}

export interface TargetMark {
  readonly side: 'target';
  readonly id: string;
  readonly from: string;
  /** Tables that are there with all their rows. */
  readonly done: readonly string[];
  /** The table of which rows are there up to a primary key. */
  readonly part?: TablePart | undefined;
  readonly finishedAt?: number | undefined;
}

export interface TablePart {
  readonly table: string;
  readonly upTo: readonly (string | number)[];
}

export const MARK_KEY = 'move';

export async function readMark(db: Kysely<Schema>): Promise<MoveMark | undefined> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', MARK_KEY).executeTakeFirst();
  // Only this file's callers write the row.
  return row && (JSON.parse(row.value) as MoveMark);
}

export async function writeMark(db: Kysely<Schema>, mark: MoveMark, now: number): Promise<void> {
  const row = { value: JSON.stringify(mark), updated_at: now };
  await db
    .insertInto('setting')
    .values({ key: MARK_KEY, ...row })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
    .execute();
}

export async function deleteMark(db: Kysely<Schema>): Promise<void> {
  await db.deleteFrom('setting').where('key', '=', MARK_KEY).execute();
}

/** Another process moves the data folder at this moment. */
export class MoveUnderWay extends StartupError {
  constructor({ to }: SourceMark, cause?: unknown) {
    super(`A move of this data folder to ${to} is under way. Wait until it has ended.`, cause);
  }
}

/** Whether the data folder is being moved, or such a move was interrupted. */
export function isUnfinished(mark: MoveMark | undefined): mark is SourceMark {
  return mark?.side === 'source' && mark.finishedAt === undefined;
}

/** Why a data folder is locked for longer than anything else would, if it is because of a move: it can be read meanwhile. */
export function explainLocked(connection: Database, error: unknown): unknown {
  const row = connection
    .query<{ value: string }, [string]>('SELECT value FROM setting WHERE key = ?')
    .get(MARK_KEY);
  const mark = row ? (JSON.parse(row.value) as MoveMark) : undefined;
  return isUnfinished(mark) ? new MoveUnderWay(mark, error) : error;
}

/** Refuses a store that only one side of a move may use: served from both, every balance could be spent twice. */
export async function refuseWhileMoved(db: Kysely<Schema>): Promise<void> {
  const mark = await readMark(db);
  if (mark?.side === 'source')
    throw new StartupError(
      mark.finishedAt === undefined
        ? `A move of this data folder to ${mark.to} was begun and is not finished. Run the same \`tollgate move\` again, or give it up with \`tollgate move --undo --yes\`.`
        : `This data folder was moved to ${mark.to} on ${new Date(mark.finishedAt).toISOString().slice(0, 10)}, and serving from both would spend every balance twice. Set DATABASE_URL; to go back, stop every node there and run \`tollgate move --undo --yes\`.`,
    );
  if (mark?.side === 'target' && mark.finishedAt === undefined)
    throw new StartupError(
      `A move of ${mark.from} into this database is not finished. Run the same \`tollgate move\` again where that folder is.`,
    );
}
