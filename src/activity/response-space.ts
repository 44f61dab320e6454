import { sql, type Kysely, type Transaction } from 'kysely';
import type { Clock } from '../std/clock.ts';
import { slowQuery, type SlowQuery } from '../store/background-thread.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

const MEGABYTE = 1_048_576;
/** What the responses and conversations of one account may take. */
const MOST_BYTES_OF_ACCOUNT = 64 * MEGABYTE;
/** So much is left when an account had too much: room is made once for many that follow. */
const LEFT_BYTES_OF_ACCOUNT = 60 * MEGABYTE;
const TOGETHER = 400;
/** Accounts that had too much lately. */
const MOST_REMEMBERED = 1_000;
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

interface StoredRow {
  readonly id: string;
  readonly account_id: string;
  readonly bytes: number;
  readonly created_at: number;
}

interface AgedRow extends StoredRow {
  readonly kind: 'responses' | 'conversations';
}

/** Keeps what is stored within its bounds: the oldest leave first. Everything that is deleted is deleted by `free`. */
export class ResponseSpace {
  readonly #parts: SpaceParts;
  readonly #db: Kysely<Schema>;
  readonly #slowQuery: SlowQuery;
  /** By account. */
  readonly #makingRoom = new Map<string, Promise<void>>();
  /** The newest response of an account that left, so that the next time nothing before it is read again. */
  readonly #leftUpTo = new Map<string, string>();

  constructor(parts: SpaceParts) {
    this.#parts = parts;
    this.#db = parts.store.db;
    this.#slowQuery = slowQuery(parts.store);
  }

  /** After something was added, with what the account takes now. */
  makeRoom(accountId: string, bytes: number): Promise<void> | undefined {
    if (bytes <= MOST_BYTES_OF_ACCOUNT) return undefined;
    const making =
      this.#makingRoom.get(accountId) ??
      this.#leaveRoom(accountId, bytes).finally(() => this.#makingRoom.delete(accountId));
    this.#makingRoom.set(accountId, making);
    return making;
  }

  async #leaveRoom(accountId: string, bytes: number): Promise<void> {
    if (this.#leftUpTo.size >= MOST_REMEMBERED) this.#leftUpTo.clear();
    for (let left = bytes; left > LEFT_BYTES_OF_ACCOUNT;) {
      const after = this.#leftUpTo.get(accountId) ?? '';
      const rows = enough(await this.#oldestOfAccount(accountId, after), left - LEFT_BYTES_OF_ACCOUNT);
      left -= await this.#freeRows(rows);
      const last = lastResponse(rows);
      this.#leftUpTo.set(accountId, last);
      if (rows.length === 0 && after === '') return;
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
      if (surplus <= 0 || (await this.#freeRows(enough(await this.#oldest(), surplus))) === 0) return;
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
    for (let after = ''; ;) {
      const rows = await this.#oldestOfAccount(accountId, after);
      if (rows.length === 0 && after === '') return await this.#parts.store.durable();
      await this.#freeRows(rows);
      after = lastResponse(rows);
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

  async #oldest(): Promise<AgedRow[]> {
    const rows = 'SELECT id, account_id, bytes, created_at FROM';
    // Ids begin with their time.
    const [responses, conversations] = [
      await sql<StoredRow>`${sql.raw(rows)} stored_response ORDER BY id LIMIT ${TOGETHER}`.execute(this.#db),
      await sql<StoredRow>`${sql.raw(rows)} conversation ORDER BY id LIMIT ${TOGETHER}`.execute(this.#db),
    ];
    return oldestOf(responses.rows, conversations.rows);
  }

  /** `after`: responses up to this id are not looked for. */
  async #oldestOfAccount(accountId: string, after: string): Promise<AgedRow[]> {
    const own = (table: 'stored_response' | 'conversation', from: string): Promise<StoredRow[]> =>
      this.#slowQuery(
        `SELECT id, account_id, bytes, created_at FROM ${table}
          WHERE account_id = ? AND id > ? ORDER BY id LIMIT ${TOGETHER}`,
        [accountId, from],
      );
    return oldestOf(await own('stored_response', after), await own('conversation', ''));
  }
}

function oldestOf(responses: readonly StoredRow[], conversations: readonly StoredRow[]): AgedRow[] {
  return [
    ...responses.map((row) => ({ ...row, kind: 'responses' as const })),
    ...conversations.map((row) => ({ ...row, kind: 'conversations' as const })),
  ]
    .toSorted((a, b) => a.created_at - b.created_at)
    .slice(0, TOGETHER);
}

/** The first rows that together have this many bytes, or all. */
function enough(rows: readonly AgedRow[], bytes: number): readonly AgedRow[] {
  let before = 0;
  return rows.filter((row) => {
    const isNeeded = before < bytes;
    before += row.bytes;
    return isNeeded;
  });
}

/** Nothing, if there is none: then all are looked through once more, since one that took long is stored behind newer ones. */
function lastResponse(rows: readonly AgedRow[]): string {
  return rows.findLast(({ kind }) => kind === 'responses')?.id ?? '';
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
