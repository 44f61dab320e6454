import { sql, type Kysely } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { StoredResponseState } from '../store/schema-services.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ResponseRows } from './response-rows.ts';
import { SealedJson } from './sealed-json.ts';
import { ResponseSpace, type KeepRules } from './response-space.ts';

/** An item of a response or a conversation, in the client's own form. */
export type StoredItem = Readonly<Record<string, unknown>>;

/** What one response has of its own; what came before it is in other rows. */
export interface ResponseItems {
  readonly input: readonly StoredItem[];
  readonly output: readonly StoredItem[];
  /** Of one that is made in the background. */
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

  /** Resolves when every node can find it. The oldest of the account make room. False: the account keeps nothing. */
  async keep(response: NewResponse): Promise<boolean> {
    const { id, accountId, previousId, conversationId, state, requestId, items, answer } = response;
    const { rows, clock } = this.#parts;
    const text = JSON.stringify(items);
    const bytes = await rows.add({
      id,
      accountId,
      previousId,
      conversationId,
      state,
      items: this.#sealed.seal({ part: 'items', accountId, id }, text),
      itemBytes: Buffer.byteLength(text),
      head: this.#sealed.seal({ part: 'head', accountId, id }, JSON.stringify({ ...answer, output: [] })),
      createdAt: clock.now(),
      requestId,
    });
    if (bytes !== undefined) await this.space.makeRoom(accountId, bytes);
    return bytes !== undefined;
  }

  /** The answer as it was given. */
  async answer(id: string, accountId: string): Promise<StoredAnswer | undefined> {
    const row = await this.#found(accountId)
      .select(['items', 'head', 'state'])
      .where('id', '=', id)
      .executeTakeFirst();
    if (!row) return undefined;
    const { output } = await this.#openItems({ id, account_id: accountId, items: row.items });
    const head = (await this.#sealed.open({ part: 'head', accountId, id }, row.head)).value as StoredAnswer;
    // One that is made in the background goes on after its head was written.
    return { ...head, status: row.state, output };
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

  /** Those of some responses; of one that is not there, nothing. */
  async items(ids: readonly string[], accountId: string): Promise<ReadonlyMap<string, SizedItems>> {
    const found = new Map<string, SizedItems>();
    for (let from = 0; from < ids.length; from += READ_TOGETHER) {
      const rows = await this.#found(accountId)
        .select(['id', 'account_id', 'items'])
        .where('id', 'in', ids.slice(from, from + READ_TOGETHER))
        .execute();
      for (const row of rows) found.set(row.id, await this.#openItems(row));
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

  async #openItems(row: { id: string; account_id: string; items: Uint8Array }): Promise<SizedItems> {
    const { text, value } = await this.#sealed.open(
      { part: 'items', accountId: row.account_id, id: row.id },
      row.items,
    );
    // Written by `keep` alone.
    return { ...(value as ResponseItems), size: { bytes: Buffer.byteLength(text), characters: text.length } };
  }
}
