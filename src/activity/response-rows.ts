import type { Database, SQLQueryBindings } from 'bun:sqlite';
import { CompiledQuery, type Kysely } from 'kysely';
import type { OpenLedger } from '../ledger/open-ledger.ts';
import { storeUnavailable } from '../std/fault.ts';
import type { StoredResponseState } from '../store/schema-services.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** A response as its row has it. */
export interface NewResponseRow {
  readonly id: string;
  readonly accountId: string;
  readonly previousId: string | undefined;
  readonly conversationId: string | undefined;
  readonly state: StoredResponseState;
  readonly items: Uint8Array;
  readonly itemBytes: number;
  readonly head: Uint8Array;
  readonly createdAt: number;
  readonly requestId?: string | undefined;
}

/** Writes the rows of new responses, for which clients wait: those that come together are written together. */
export interface ResponseRows {
  /**
   * Resolves when every node can read it, with what the account takes now; `undefined`: the account keeps nothing.
   */
  add(row: NewResponseRow): Promise<number | undefined>;
}

/** `deadlineMs`: how long an answer waits for a database that does not answer; the row may still be written. */
export function openResponseRows(
  { db }: Store,
  { alongside }: Pick<OpenLedger, 'alongside'>,
  deadlineMs: number,
): ResponseRows {
  return alongside ? new RowsInTheLedgersTransaction(alongside) : new RowsInBatches(db, deadlineMs);
}

/** Beside the content: id, account, numbers, and what the indexes have of them. */
const ROW_BYTES = 300;

export function bytesOf({ items, head }: Pick<NewResponseRow, 'items' | 'head'>): number {
  return items.byteLength + head.byteLength + ROW_BYTES;
}

const COLUMNS = [
  'id',
  'account_id',
  'previous_id',
  'conversation_id',
  'state',
  'items',
  'item_bytes',
  'head',
  'bytes',
  'created_at',
  'request_id',
] as const;

const TYPES = [
  'text',
  'text',
  'text',
  'text',
  'text',
  'bytea',
  'bigint',
  'bytea',
  'bigint',
  'bigint',
  'text',
];

function valuesOf(row: NewResponseRow): (string | number | Uint8Array | null)[] {
  return [
    row.id,
    row.accountId,
    row.previousId ?? null,
    row.conversationId ?? null,
    row.state,
    row.items,
    row.itemBytes,
    row.head,
    bytesOf(row),
    row.createdAt,
    row.requestId ?? null,
  ];
}

/** No row is returned where the account keeps nothing: the condition sees the latest version of its row, and locks it. */
const COUNTED = `ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes + excluded.bytes
  WHERE s.off_at IS NULL`;

const COUNT_BYTES = `INSERT INTO response_storage AS s (account_id, bytes) VALUES (?, ?) ${COUNTED} RETURNING bytes`;
const INSERT_ROW = `INSERT INTO stored_response (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;

type Alongside = NonNullable<OpenLedger['alongside']>;

/** A transaction of its own would cost as much as the whole request, and make the ledger read its accounts anew. */
class RowsInTheLedgersTransaction implements ResponseRows {
  readonly #alongside: Alongside;

  constructor(alongside: Alongside) {
    this.#alongside = alongside;
  }

  add(row: NewResponseRow): Promise<number | undefined> {
    return this.#alongside((database) => insertRow(database, row));
  }
}

function insertRow(database: Database, row: NewResponseRow): number | undefined {
  const counted = database
    .query<{ bytes: number }, SQLQueryBindings[]>(COUNT_BYTES)
    .get(row.accountId, bytesOf(row));
  if (counted) database.query<unknown, SQLQueryBindings[]>(INSERT_ROW).run(...valuesOf(row));
  return counted?.bytes;
}

interface WaitingRow {
  readonly row: NewResponseRow;
  readonly resolve: (bytes: number | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const MOST_TOGETHER = 100;
const MOST_WAITING = 2_000;

/** One statement for all that came while the one before was under way. */
class RowsInBatches implements ResponseRows {
  readonly #db: Kysely<Schema>;
  readonly #deadlineMs: number;
  readonly #waiting: WaitingRow[] = [];
  #isWriting = false;

  constructor(db: Kysely<Schema>, deadlineMs: number) {
    this.#db = db;
    this.#deadlineMs = deadlineMs;
  }

  add(row: NewResponseRow): Promise<number | undefined> {
    if (this.#waiting.length >= MOST_WAITING)
      return Promise.reject(storeUnavailable(undefined, 'too many responses wait to be stored'));
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    this.#waiting.push({ row, resolve, reject });
    if (!this.#isWriting) void this.#writeAll();
    return promise;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, MOST_TOGETHER));
    this.#isWriting = false;
  }

  async #write(batch: readonly WaitingRow[]): Promise<void> {
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(storeUnavailable(undefined, 'a stored response was not written in time')),
      this.#deadlineMs,
    );
    try {
      const query = insertTogether(batch.map(({ row }) => row));
      const { rows } = await Promise.race([this.#db.executeQuery(query), tooLate]);
      const counted = new Map(rows.map(({ account_id, bytes }) => [account_id, bytes]));
      for (const { row, resolve } of batch) resolve(counted.get(row.accountId));
    } catch (error) {
      for (const { reject: refuse } of batch) refuse(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Accounts are counted in the order of their ids, so that no two nodes wait for each other. */
function insertTogether(
  rows: readonly NewResponseRow[],
): CompiledQuery<{ account_id: string; bytes: number }> {
  const width = COLUMNS.length;
  const lines = rows.map(
    (_, line) => `(${TYPES.map((type, place) => `$${line * width + place + 1}::${type}`).join(', ')})`,
  );
  return CompiledQuery.raw(
    `WITH new_row (${COLUMNS.join(', ')}) AS (VALUES ${lines.join(', ')}),
      counted AS (
        INSERT INTO response_storage AS s (account_id, bytes)
        SELECT account_id, sum(bytes) FROM new_row GROUP BY account_id ORDER BY account_id
        ${COUNTED} RETURNING account_id, bytes
      ),
      added AS (
        INSERT INTO stored_response (${COLUMNS.join(', ')})
        SELECT ${COLUMNS.map((column) => `n.${column}`).join(', ')}
        FROM new_row n JOIN counted c ON c.account_id = n.account_id
      )
      SELECT account_id, bytes FROM counted`,
    rows.flatMap(valuesOf),
  );
}
