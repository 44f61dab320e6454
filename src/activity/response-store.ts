import type { Database, SQLQueryBindings } from 'bun:sqlite';
import { CompiledQuery, sql, type Kysely } from 'kysely';
import type { OpenLedger } from '../ledger/open-ledger.ts';
import type { Clock } from '../std/clock.ts';
import { storeUnavailable } from '../std/fault.ts';
import { parseJson, type JsonText } from '../std/json-parse.ts';
import { JSON_LIMITS, type JsonLimits } from '../std/json-scan.ts';
import { LONG_TEXT } from '../std/long-text.ts';
import { openBytes, sealBytes, sealInSteps } from '../std/sealed-bytes.ts';
import type { StoredResponseState } from '../store/schema-services.ts';
import { prepared } from '../store/postgres-pool.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { ResponseSpace, type KeepRules } from './response-space.ts';

/** An item of a response or a conversation, in the client's own form. */
export type StoredItem = Readonly<Record<string, unknown>>;

/** The items of one response; those of earlier turns are in other rows. */
export interface ResponseItems {
  readonly input: readonly StoredItem[];
  readonly output: readonly StoredItem[];
  /** The job, where the response is made in the background. */
  readonly job?: StoredJob | undefined;
}

/** What another process needs to know of a request to make its answer. */
export interface StoredJob {
  readonly body: Readonly<Record<string, unknown>>;
  readonly client: string;
  readonly size: { readonly bytes: number; readonly characters: number };
}

export interface NewResponse {
  readonly id: string;
  readonly accountId: string;
  readonly previousId?: string | undefined;
  readonly conversationId?: string | undefined;
  readonly state: StoredResponseState;
  /** The request that makes it in the background. */
  readonly requestId?: string | undefined;
  readonly items: ResponseItems;
  /** The answer as its client got it; its output is among the items. */
  readonly answer: StoredAnswer;
}

export type StoredAnswer = Readonly<Record<string, unknown>>;

/** Items with the size that they had as text, which bounds what they cost as input. */
export interface SizedItems extends ResponseItems {
  readonly size: { readonly bytes: number; readonly characters: number };
}

/** One response of a chain. */
export interface StoredTurn {
  readonly id: string;
  readonly itemBytes: number;
  /** It was made in a conversation, which has what came before it. */
  readonly conversationId: string | undefined;
}

interface ResponseStoreParts {
  readonly store: Store;
  readonly rows: ResponseRows;
  readonly clock: Clock;
  /** Encrypts what responses say. */
  readonly key: Uint8Array;
  readonly rules: () => KeepRules;
}

/** The most responses that may follow each other. */
export const MOST_TURNS = 1_000;
const READ_TOGETHER = 100;

/** The responses that are kept for their accounts: found by their id, for as long as the operator says. */
export class ResponseStore {
  readonly #parts: ResponseStoreParts;
  readonly #db: Kysely<Schema>;
  readonly #sealed: SealedJson;
  readonly space: ResponseSpace;

  constructor(parts: ResponseStoreParts) {
    this.#parts = parts;
    this.#db = parts.store.db;
    this.#sealed = new SealedJson(parts.key);
    this.space = new ResponseSpace(parts);
  }

  /** Whether anything is kept here at all. */
  get isOn(): boolean {
    return this.#parts.rules().keepMs > 0;
  }

  /**
   * Resolves when every node can find it, with the answer as JSON, which was needed for storing it. The oldest of the account make
   * room. `undefined`: the account keeps nothing.
   */
  async keep(response: NewResponse): Promise<string | undefined> {
    const { id, accountId, previousId, conversationId, state, requestId, items, answer } = response;
    const { rows, clock } = this.#parts;
    const { text, ...sealed } = await this.#sealed.sealResponse({ accountId, id }, items, answer);
    const createdAt = clock.now();
    const row = { id, accountId, previousId, conversationId, state, createdAt, requestId, ...sealed };
    const bytes = await rows.add(row);
    if (bytes === undefined) return undefined;
    await this.space.makeRoom(accountId, bytes);
    return text;
  }

  /** The answer as it was given. */
  async answer(id: string, accountId: string): Promise<StoredAnswer | undefined> {
    const row = await this.#found(accountId)
      .select(['items', 'state'])
      .where('id', '=', id)
      .executeTakeFirst();
    if (!row) return undefined;
    const { output, answer } = await this.#sealed.openAnswer({ accountId, id }, row.items);
    // One that is made in the background goes on after its answer was first written.
    return { ...answer, status: row.state, output };
  }

  /**
   * The response and those that it follows, the first of all first. `undefined`: it or one of those is not there any
   * more. More than {@link MOST_TURNS} are not looked for.
   */
  async turns(id: string, accountId: string): Promise<readonly StoredTurn[] | undefined> {
    const { rows } = await sql<{
      id: string;
      previous_id: string | null;
      item_bytes: number;
      conversation_id: string | null;
    }>`
      WITH RECURSIVE turn (id, previous_id, item_bytes, conversation_id, place) AS (
        SELECT id, previous_id, item_bytes, conversation_id, 1 FROM stored_response
        WHERE id = ${id} AND account_id = ${accountId} AND created_at > ${this.#since()} AND state IN ('completed', 'incomplete')
        UNION ALL
        SELECT earlier.id, earlier.previous_id, earlier.item_bytes, earlier.conversation_id, turn.place + 1
        FROM turn JOIN stored_response earlier ON earlier.id = turn.previous_id
        WHERE earlier.account_id = ${accountId} AND earlier.created_at > ${this.#since()} AND turn.place <= ${sql.lit(MOST_TURNS)}
      )
      SELECT id, previous_id, item_bytes, conversation_id FROM turn ORDER BY place`.execute(this.#db);
    const first = rows.at(-1);
    const isWhole = first !== undefined && (first.previous_id === null || rows.length > MOST_TURNS);
    if (!isWhole) return undefined;
    return rows
      .map((row) => ({
        id: row.id,
        itemBytes: row.item_bytes,
        conversationId: row.conversation_id ?? undefined,
      }))
      .toReversed();
  }

  /** How large the items of some responses are; of one that is not there, nothing. */
  async itemBytes(ids: readonly string[], accountId: string): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#found(accountId).select(['id', 'item_bytes']).where('id', 'in', ids).execute();
    return new Map(rows.map((row) => [row.id, row.item_bytes]));
  }

  /** The items of these responses; a response that does not exist is left out. */
  async items(ids: readonly string[], accountId: string): Promise<ReadonlyMap<string, SizedItems>> {
    const found = new Map<string, SizedItems>();
    for (let from = 0; from < ids.length; from += READ_TOGETHER) {
      const rows = await this.#found(accountId)
        .select(['id', 'items'])
        .where('id', 'in', ids.slice(from, from + READ_TOGETHER))
        .execute();
      for (const { id, items } of rows) found.set(id, await this.#sealed.openItems({ accountId, id }, items));
    }
    return found;
  }

  /** False: there was none. */
  async remove(id: string, accountId: string): Promise<boolean> {
    const found = await this.#found(accountId).select('id').where('id', '=', id).executeTakeFirst();
    if (!found) return false;
    return (await this.space.free(accountId, { responses: [id] })) > 0;
  }

  /** Deletes what is too old or too much, a bounded number at a time. */
  async sweep(): Promise<void> {
    await this.space.sweep(this.#since(), this.#parts.rules().keepBytes);
  }

  #since(): number {
    return this.#parts.clock.now() - this.#parts.rules().keepMs;
  }

  #found(accountId: string) {
    return this.#db
      .selectFrom('stored_response')
      .where('account_id', '=', accountId)
      .where('created_at', '>', this.#since());
  }
}

/** A response as its row has it. */
interface NewResponseRow {
  readonly id: string;
  readonly accountId: string;
  readonly previousId: string | undefined;
  readonly conversationId: string | undefined;
  readonly state: StoredResponseState;
  readonly items: Uint8Array;
  readonly itemBytes: number;
  readonly createdAt: number;
  readonly requestId?: string | undefined;
}

/** Writes the rows of new responses, for which clients wait: those that come together are written together. */
interface ResponseRows {
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

export function bytesOf({ items }: Pick<NewResponseRow, 'items'>): number {
  return items.byteLength + ROW_BYTES;
}

const COLUMNS = [
  'id',
  'account_id',
  'previous_id',
  'conversation_id',
  'state',
  'items',
  'item_bytes',
  'bytes',
  'created_at',
  'request_id',
  'head',
] as const;

function valuesOf(row: NewResponseRow): (string | number | Uint8Array | null)[] {
  return [
    row.id,
    row.accountId,
    row.previousId ?? null,
    row.conversationId ?? null,
    row.state,
    row.items,
    row.itemBytes,
    bytesOf(row),
    row.createdAt,
    row.requestId ?? null,
  ];
}

/** No row is returned where the account keeps nothing: the condition sees the latest version of its row, and locks it. */
const COUNTED = `ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes + excluded.bytes
  WHERE s.off_at IS NULL`;

const COUNT_BYTES = `INSERT INTO response_storage AS s (account_id, bytes) VALUES (?, ?) ${COUNTED} RETURNING bytes`;
const INSERT_ROW = `INSERT INTO stored_response (${COLUMNS.join(', ')})
  VALUES (${COLUMNS.map((column) => (column === 'head' ? "x''" : '?')).join(', ')})`;

type Alongside = NonNullable<OpenLedger['alongside']>;

const MOST_TOGETHER = 100;

/** Rows that are written together, and the space that their accounts use afterwards. */
interface RowsTogether {
  readonly rows: NewResponseRow[];
  readonly counted: Promise<ReadonlyMap<string, number>>;
}

/**
 * A transaction of its own would cost as much as the whole request, and make the ledger read its accounts anew. What comes until that
 * transaction runs is one operation of it, and each account is counted once.
 */
class RowsInTheLedgersTransaction implements ResponseRows {
  readonly #alongside: Alongside;
  #next: RowsTogether | undefined;

  constructor(alongside: Alongside) {
    this.#alongside = alongside;
  }

  async add(row: NewResponseRow): Promise<number | undefined> {
    const { rows, counted } = this.#next ?? this.#open();
    rows.push(row);
    if (rows.length === MOST_TOGETHER) this.#next = undefined;
    return (await counted).get(row.accountId);
  }

  #open(): RowsTogether {
    const rows: NewResponseRow[] = [];
    const close = (): void => {
      if (this.#next?.rows === rows) this.#next = undefined;
    };
    const counted = this.#alongside((database) => {
      close();
      return insertRows(database, rows);
    });
    // It may fail without having run.
    counted.catch(close);
    return (this.#next = { rows, counted });
  }
}

function insertRows(database: Database, rows: readonly NewResponseRow[]): ReadonlyMap<string, number> {
  const added = new Map<string, number>();
  for (const row of rows) added.set(row.accountId, (added.get(row.accountId) ?? 0) + bytesOf(row));
  const count = database.query<{ bytes: number }, SQLQueryBindings[]>(COUNT_BYTES);
  const counted = new Map<string, number>();
  for (const [accountId, bytes] of added) {
    const account = count.get(accountId, bytes);
    if (account) counted.set(accountId, account.bytes);
  }
  const insert = database.query<unknown, SQLQueryBindings[]>(INSERT_ROW);
  for (const row of rows) if (counted.has(row.accountId)) insert.run(...valuesOf(row));
  return counted;
}

interface WaitingRow {
  readonly row: NewResponseRow;
  readonly resolve: (bytes: number | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const MOST_WAITING = 2_000;
/** A statement costs as much as many rows do. Meanwhile the settlements are written, which take longer. */
const GATHER_MS = 2;
/** One parameter has all of a batch, and a single response may have as much as a body. */
const MOST_BYTES_TOGETHER = 4_194_304;

/**
 * One statement for all that came while the one before was under way, or within {@link GATHER_MS} of its begin. One that comes alone goes at
 * once.
 */
class RowsInBatches implements ResponseRows {
  readonly #db: Kysely<Schema>;
  readonly #deadlineMs: number;
  readonly #waiting: WaitingRow[] = [];
  #isWriting = false;
  #begunAt = Number.NEGATIVE_INFINITY;

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
    while (this.#waiting.length > 0) {
      const earlyMs = this.#begunAt + GATHER_MS - performance.now();
      if (earlyMs > 0) await Bun.sleep(earlyMs);
      this.#begunAt = performance.now();
      await this.#write(this.#nextBatch());
    }
    this.#isWriting = false;
  }

  #nextBatch(): WaitingRow[] {
    let bytes = 0;
    const beyond = this.#waiting.findIndex(({ row }, index) => {
      bytes += row.items.byteLength;
      return index > 0 && (index === MOST_TOGETHER || bytes > MOST_BYTES_TOGETHER);
    });
    return this.#waiting.splice(0, beyond === -1 ? this.#waiting.length : beyond);
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

/**
 * The rows as one JSON text, with what is sealed of all in one piece behind each other: two parameters, however many there are. Accounts are
 * counted in the order of their ids, so that no two nodes wait for each other.
 *
 * The commit does not wait for the disk, which every settlement beside it does: every node sees the rows at once, and only a database that
 * loses its power can forget those of its last moment. Then they are not found, and nothing else is missing. The setting ends with the
 * statement.
 */
const INSERT_TOGETHER = prepared(
  'insert_responses',
  `WITH new_row AS (
    SELECT * FROM json_to_recordset($1::json) AS t (id text, account_id text, previous_id text, conversation_id text,
      state text, item_bytes bigint, bytes bigint, created_at bigint, request_id text, starts int, size int)
  ),
  counted AS (
    INSERT INTO response_storage AS s (account_id, bytes)
    SELECT account_id, sum(bytes) FROM new_row GROUP BY account_id ORDER BY account_id
    ${COUNTED} RETURNING account_id, bytes
  ),
  added AS (
    INSERT INTO stored_response (${COLUMNS.join(', ')})
    SELECT n.id, n.account_id, n.previous_id, n.conversation_id, n.state, substring($2::bytea FROM n.starts FOR n.size),
      n.item_bytes, n.bytes, n.created_at, n.request_id, ''
    FROM new_row n JOIN counted c ON c.account_id = n.account_id
  ),
  unhurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
  SELECT account_id, bytes FROM counted, unhurried`,
);

function insertTogether(
  rows: readonly NewResponseRow[],
): CompiledQuery<{ account_id: string; bytes: number }> {
  let starts = 1;
  const described = rows.map((row) => {
    const size = row.items.byteLength;
    const one = {
      id: row.id,
      account_id: row.accountId,
      previous_id: row.previousId,
      conversation_id: row.conversationId,
      state: row.state,
      item_bytes: row.itemBytes,
      bytes: bytesOf(row),
      created_at: row.createdAt,
      request_id: row.requestId,
      starts,
      size,
    };
    starts += size;
    return one;
  });
  return CompiledQuery.raw(INSERT_TOGETHER, [
    JSON.stringify(described),
    Buffer.concat(rows.map(({ items }) => items)),
  ]);
}

/** What is stored here was read within limits before, as a part of its request. */
const STORED_LIMITS: JsonLimits = {
  ...JSON_LIMITS,
  depth: JSON_LIMITS.depth * 2,
  values: Infinity,
  structure: Infinity,
};

/** Which part of what is meant: nothing is opened as something else. */
interface SealedLabel {
  readonly part: 'response' | 'head' | 'item';
  readonly accountId: string;
  /** The id of the response or the conversation. */
  readonly id: string;
  /** The id of the item, in a conversation. */
  readonly itemId?: string | undefined;
}

type ResponseLabel = Pick<SealedLabel, 'accountId' | 'id'>;

/** JSON that is stored encrypted. */
export class SealedJson {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** A short text is sealed at once. */
  seal(label: SealedLabel, text: string): Buffer | Promise<Buffer> {
    const seal = text.length > LONG_TEXT ? sealInSteps : sealBytes;
    return seal(this.#key, labelText(label), text);
  }

  async open(label: SealedLabel, sealed: Uint8Array): Promise<JsonText> {
    return await parseJson(openBytes(this.#key, labelText(label), sealed), STORED_LIMITS);
  }

  /** Sealed at once, as two lines of JSON: its items, and the answer without its output. `text`: the answer with it. */
  async sealResponse(
    { accountId, id }: ResponseLabel,
    { input, output, job }: ResponseItems,
    answer: StoredAnswer,
  ) {
    const outputText = `"output":${JSON.stringify(output)}`;
    const items = `{"input":${JSON.stringify(input)},${outputText}${job ? `,"job":${JSON.stringify(job)}` : ''}}`;
    // A copy without the output would take longer to write than the whole of it.
    const text = JSON.stringify(answer['output'] === output ? answer : { ...answer, output });
    // Texts that come before it have their quotes escaped.
    const head = text.replace(outputText, '"output":[]');
    return {
      items: await this.seal({ part: 'response', accountId, id }, `${items}\n${head}`),
      itemBytes: Buffer.byteLength(items),
      text,
    };
  }

  async openItems(label: ResponseLabel, sealed: Uint8Array): Promise<SizedItems> {
    const { text, value } = await parseJson(this.#lines(label, sealed).items, STORED_LIMITS);
    // Written by `sealResponse` alone.
    return { ...(value as ResponseItems), size: { bytes: Buffer.byteLength(text), characters: text.length } };
  }

  async openAnswer(label: ResponseLabel, sealed: Uint8Array) {
    const lines = this.#lines(label, sealed);
    const { output } = (await parseJson(lines.items, STORED_LIMITS)).value as ResponseItems;
    return { output, answer: (await parseJson(lines.answer, STORED_LIMITS)).value as StoredAnswer };
  }

  #lines(label: ResponseLabel, sealed: Uint8Array) {
    const bytes = openBytes(this.#key, labelText({ ...label, part: 'response' }), sealed);
    // JSON of one line has no other.
    const end = bytes.indexOf('\n');
    return { items: bytes.subarray(0, end), answer: bytes.subarray(end + 1) };
  }

  /** Seals again, with this key, what another key has sealed. */
  again(label: SealedLabel, sealed: Uint8Array, from: Uint8Array): Buffer {
    return sealBytes(this.#key, labelText(label), openBytes(from, labelText(label), sealed));
  }
}

function labelText({ part, accountId, id, itemId }: SealedLabel): string {
  return itemId === undefined ? `${part} ${accountId} ${id}` : `${part} ${accountId} ${id} ${itemId}`;
}
