import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

const MEGABYTE = 1_048_576;
/** What the responses and conversations of one account may take. */
const MOST_BYTES_OF_ACCOUNT = 64 * MEGABYTE;
/** So much is left when an account had too much: room is made once for many that follow. */
const LEFT_BYTES_OF_ACCOUNT = 60 * MEGABYTE;
const TOGETHER = 400;
/** The steps of one sweep; the next one does what is left. */
const MOST_STEPS = 50;

/** How long everything is kept, and how much of all accounts together. Zero: nothing is. */
export interface KeepRules {
  readonly keepMs: number;
  readonly keepBytes: number;
}

interface SpaceParts {
  readonly store: Store;
  readonly clock: Clock;
}

/** Rows of one account that are deleted together. */
interface Freed {
  readonly responses?: readonly string[];
  readonly conversations?: readonly string[];
}

interface AgedRow {
  readonly id: string;
  readonly account_id: string;
  readonly bytes: number;
  readonly created_at: number;
  readonly kind: 'responses' | 'conversations';
}

/** Keeps what is stored within its bounds: the oldest leave first. Everything that is deleted is deleted by `free`. */
export class ResponseSpace {
  readonly #parts: SpaceParts;
  readonly #db: Kysely<Schema>;

  constructor(parts: SpaceParts) {
    this.#parts = parts;
    this.#db = parts.store.db;
  }

  /** After something was added, with what the account takes now. */
  makeRoom(accountId: string, bytes: number): Promise<void> | undefined {
    return bytes > MOST_BYTES_OF_ACCOUNT ? this.#leaveRoom(accountId, bytes) : undefined;
  }

  async #leaveRoom(accountId: string, bytes: number): Promise<void> {
    for (let left = bytes; left > LEFT_BYTES_OF_ACCOUNT;) {
      const freed = await this.#freeOldest(left - LEFT_BYTES_OF_ACCOUNT, accountId);
      if (freed === 0) return;
      left -= freed;
    }
  }

  /** What was stored before `since`, and whatever is too much for all accounts together. */
  async sweep(since: number, keepBytes: number): Promise<void> {
    for (let step = 0; step < MOST_STEPS; step++) {
      const expired = (await this.#oldest()).filter((row) => row.created_at <= since);
      if (expired.length === 0) break;
      await this.#freeRows(expired);
    }
    for (let step = 0; step < MOST_STEPS; step++) {
      const surplus = (await this.#total()) - keepBytes;
      if (surplus <= 0 || (await this.#freeOldest(surplus)) === 0) return;
    }
  }

  /** Nothing more is stored for the account, and what is there is deleted. */
  async switchOff(accountId: string): Promise<void> {
    const off = { account_id: accountId, bytes: 0, off_at: this.#parts.clock.now() };
    await this.#db
      .insertInto('response_storage')
      .values(off)
      .onConflict((conflict) => conflict.column('account_id').doUpdateSet({ off_at: off.off_at }))
      .execute();
    for (;;) {
      const rows = await this.#oldest(accountId);
      if (rows.length === 0) return await this.#parts.store.durable();
      await this.#freeRows(rows);
    }
  }

  async switchOn(accountId: string): Promise<void> {
    await this.#db
      .updateTable('response_storage')
      .set({ off_at: null })
      .where('account_id', '=', accountId)
      .execute();
  }

  async isOff(accountId: string): Promise<boolean> {
    const row = await this.#db
      .selectFrom('response_storage')
      .select('off_at')
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return row !== undefined && row.off_at !== null;
  }

  /** Deletes rows of an account and returns how many bytes that gave back. */
  async free(accountId: string, { responses = [], conversations = [] }: Freed): Promise<number> {
    return await this.#db.transaction().execute(async (tx) => {
      await lockAccount(tx, accountId);
      let bytes = 0;
      if (responses.length > 0) {
        const gone = await tx
          .deleteFrom('stored_response')
          .where('account_id', '=', accountId)
          .where('id', 'in', responses)
          .returning('bytes')
          .execute();
        bytes += sumOf(gone);
      }
      if (conversations.length > 0) {
        await tx.deleteFrom('conversation_item').where('conversation_id', 'in', conversations).execute();
        const gone = await tx
          .deleteFrom('conversation')
          .where('account_id', '=', accountId)
          .where('id', 'in', conversations)
          .returning('bytes')
          .execute();
        bytes += sumOf(gone);
      }
      await addBytes(tx, accountId, -bytes);
      return bytes;
    });
  }

  async #total(): Promise<number> {
    const { bytes } = await this.#db
      .selectFrom('response_storage')
      .select((select) => select.fn.sum<number | null>('bytes').as('bytes'))
      .executeTakeFirstOrThrow();
    return bytes ?? 0;
  }

  /** The oldest rows that together have this many bytes, or as many as are deleted at once. */
  async #freeOldest(bytes: number, accountId?: string): Promise<number> {
    let enough = 0;
    const rows = (await this.#oldest(accountId)).filter((row) => {
      const isNeeded = enough < bytes;
      enough += row.bytes;
      return isNeeded;
    });
    return await this.#freeRows(rows);
  }

  async #freeRows(rows: readonly AgedRow[]): Promise<number> {
    let bytes = 0;
    for (const [accountId, own] of Map.groupBy(rows, (row) => row.account_id)) {
      const ids = (kind: AgedRow['kind']) => own.flatMap((row) => (row.kind === kind ? [row.id] : []));
      bytes += await this.free(accountId, {
        responses: ids('responses'),
        conversations: ids('conversations'),
      });
    }
    return bytes;
  }

  async #oldest(accountId?: string): Promise<AgedRow[]> {
    const [responses, conversations] = [
      await this.#oldestOf('stored_response', accountId),
      await this.#oldestOf('conversation', accountId),
    ];
    return [
      ...responses.map((row) => ({ ...row, kind: 'responses' as const })),
      ...conversations.map((row) => ({ ...row, kind: 'conversations' as const })),
    ]
      .toSorted((a, b) => a.created_at - b.created_at)
      .slice(0, TOGETHER);
  }

  async #oldestOf(table: 'stored_response' | 'conversation', accountId: string | undefined) {
    const rows = this.#db
      .selectFrom(table)
      .select(['id', 'account_id', 'bytes', 'created_at'])
      // They begin with their time.
      .orderBy('id')
      .limit(TOGETHER);
    return await (accountId === undefined ? rows : rows.where('account_id', '=', accountId)).execute();
  }
}

const USUAL_HOURS = 24;

/** Customers of an earlier version were told that nothing is stored: that stays so until the operator says otherwise. */
export async function hoursWithoutSetting(db: Kysely<Schema>): Promise<number> {
  const madeBefore = await db
    .selectFrom('setting')
    .select('key')
    .where('key', '=', 'responses.made_before')
    .executeTakeFirst();
  return madeBefore ? 0 : USUAL_HOURS;
}

/** First of all, so that no two that delete or add wait for each other. */
async function lockAccount(tx: Transaction<Schema>, accountId: string): Promise<void> {
  await addBytes(tx, accountId, 0);
}

/** Returns what the account takes then. */
export async function addBytes(tx: Transaction<Schema>, accountId: string, bytes: number): Promise<number> {
  const row = await tx
    .updateTable('response_storage')
    .set((set) => ({ bytes: set('bytes', '+', bytes) }))
    .where('account_id', '=', accountId)
    .returning('bytes')
    .executeTakeFirst();
  return row?.bytes ?? 0;
}

function sumOf(rows: readonly { readonly bytes: number }[]): number {
  return rows.reduce((sum, { bytes }) => sum + bytes, 0);
}
