import { sql, type Kysely, type Transaction } from 'kysely';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import { LONG_TEXT } from '../std/long-text.ts';
import { nextTurn } from '../std/turns.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { addBytes, type KeepRules, type ResponseSpace } from './response-space.ts';
import { SealedJson, type StoredItem } from './response-store.ts';

export type NamedItem = StoredItem & { readonly id: string };

/** A conversation without its items. */
export interface StoredConversation {
  readonly id: string;
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The length of all its items as text. */
  readonly itemBytes: number;
}

interface ConversationStoreParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly space: ResponseSpace;
  readonly key: Uint8Array;
  readonly rules: () => KeepRules;
}

interface Owned {
  readonly accountId: string;
  /** Of the conversation. */
  readonly id: string;
}

interface SealedItem {
  readonly id: string;
  readonly item: Buffer;
}

/** Beside the content: ids, numbers, and what the indexes have of them. */
const ROW_BYTES = 300;
const READ_TOGETHER = 500;
/** A request that took a conversation and has no hold after this long will not get one. */
const ADMISSION_MS = 60_000;
/** How long the end of a request is waited for whose charge is booked already. */
const ENDING_MS = 1_000;
const ENDING_STEP_MS = 20;

/** Conversations with their items: each leaves as a whole, a time after it was made. */
export class ConversationStore {
  readonly #parts: ConversationStoreParts;
  readonly #db: Kysely<Schema>;
  readonly #sealed: SealedJson;

  constructor(parts: ConversationStoreParts) {
    this.#parts = parts;
    this.#db = parts.store.db;
    this.#sealed = new SealedJson(parts.key);
  }

  async create(
    accountId: string,
    { id, metadata }: Pick<StoredConversation, 'id' | 'metadata'>,
    items: readonly NamedItem[],
  ): Promise<StoredConversation> {
    const createdAt = this.#parts.clock.now();
    const head = await this.#sealed.seal({ part: 'head', accountId, id }, JSON.stringify({ metadata }));
    const sealed = await this.#seal({ accountId, id }, items);
    const bytes = head.byteLength + ROW_BYTES;
    const total = await this.#db.transaction().execute(async (tx) => {
      await requireOn(tx, accountId, bytes);
      const empty = { item_bytes: 0, last_place: 0, created_at: createdAt };
      await tx
        .insertInto('conversation')
        .values({ ...empty, id, account_id: accountId, head, bytes })
        .execute();
      return await this.#append(tx, { accountId, id }, sealed);
    });
    await this.#parts.space.makeRoom(accountId, total);
    return { id, createdAt, metadata, itemBytes: 0 };
  }

  async find(id: string, accountId: string): Promise<StoredConversation | undefined> {
    const row = await this.#found(id, accountId).selectAll().executeTakeFirst();
    if (!row) return undefined;
    const { value } = await this.#sealed.open({ part: 'head', accountId, id }, row.head);
    // Written by `create` alone.
    const { metadata } = value as Pick<StoredConversation, 'metadata'>;
    return { id, createdAt: row.created_at, metadata, itemBytes: row.item_bytes };
  }

  async remove(id: string, accountId: string): Promise<boolean> {
    if (!(await this.#found(id, accountId).select('id').executeTakeFirst())) return false;
    return (await this.#parts.space.free(accountId, { conversations: [id] })) > 0;
  }

  /** False: there is no such conversation. */
  async add(id: string, accountId: string, items: readonly NamedItem[]): Promise<boolean> {
    const sealed = await this.#seal({ accountId, id }, items);
    const total = await this.#db.transaction().execute(async (tx) => {
      await requireOn(tx, accountId, 0);
      return await this.#append(tx, { accountId, id }, sealed);
    });
    if (total > 0) await this.#parts.space.makeRoom(accountId, total);
    return total > 0;
  }

  /** All of them, in order; the caller has looked how large they are. */
  async items(id: string, accountId: string, most: number): Promise<NamedItem[]> {
    const items: NamedItem[] = [];
    for (let after = 0; items.length <= most;) {
      const rows = await this.#db
        .selectFrom('conversation_item')
        .selectAll()
        .where('conversation_id', '=', id)
        .where('account_id', '=', accountId)
        .where('place', '>', after)
        .orderBy('place')
        .limit(READ_TOGETHER)
        .execute();
      for (const row of rows) items.push(await this.#openItem(row));
      const last = rows.at(-1);
      if (!last || rows.length < READ_TOGETHER) break;
      after = last.place;
    }
    return items;
  }

  /** Items of any conversation of the account, by their ids. */
  async itemsById(ids: readonly string[], accountId: string): Promise<ReadonlyMap<string, StoredItem>> {
    const rows = await this.#db
      .selectFrom('conversation_item as item')
      .innerJoin('conversation as whole', 'whole.id', 'item.conversation_id')
      .select(['item.id', 'item.account_id', 'item.conversation_id', 'item.item'])
      .where('item.account_id', '=', accountId)
      .where('item.id', 'in', ids)
      .where('whole.created_at', '>', this.#since())
      .execute();
    return new Map(await Promise.all(rows.map(async (row) => [row.id, await this.#openItem(row)] as const)));
  }

  /** False: there is no such item. */
  async removeItem(id: string, itemId: string, accountId: string): Promise<boolean> {
    return await this.#db.transaction().execute(async (tx) => {
      await addBytes(tx, accountId, 0);
      const gone = await tx
        .deleteFrom('conversation_item')
        .where('conversation_id', '=', id)
        .where('id', '=', itemId)
        .where('account_id', '=', accountId)
        .returning('item')
        .executeTakeFirst();
      if (!gone) return false;
      const size = -(gone.item.byteLength + ROW_BYTES);
      await addBytes(tx, accountId, size);
      await tx
        .updateTable('conversation')
        .set((set) => ({
          bytes: set('bytes', '+', size),
          item_bytes: set('item_bytes', '-', gone.item.byteLength),
        }))
        .where('id', '=', id)
        .execute();
      return true;
    });
  }

  /**
   * Takes a conversation for a request, whose hold keeps it from then on: it is free again when the request is over, also
   * when its process died. `missing`: there is none of this id; `taken`: another request has it.
   */
  async take(
    id: string,
    accountId: string,
    requestId: string,
  ): Promise<'taken' | 'missing' | StoredConversation> {
    const until = this.#parts.clock.now() + ENDING_MS;
    for (;;) {
      const now = this.#parts.clock.now();
      const row = await this.#found(id, accountId).select(['running', 'running_since']).executeTakeFirst();
      if (!row) return 'missing';
      const { running } = row;
      const isFree = running === null || running === requestId;
      const state = isFree ? 'over' : await this.#stateOf(running, row.running_since ?? 0);
      if (state === 'running') return 'taken';
      if (state === 'ending' && now < until) {
        await Bun.sleep(ENDING_STEP_MS);
        continue;
      }
      const { numUpdatedRows } = await this.#db
        .updateTable('conversation')
        .set({ running: requestId, running_since: now })
        .where('id', '=', id)
        .where(sql<boolean>`coalesce(running, '') = ${row.running ?? ''}`)
        .executeTakeFirst();
      if (numUpdatedRows === 1n) return (await this.find(id, accountId)) ?? 'missing';
    }
  }

  /** The request was refused before it had a hold, or its answer is not complete. */
  async release(id: string, requestId: string): Promise<void> {
    await this.#db
      .updateTable('conversation')
      .set({ running: null, running_since: null })
      .where('id', '=', id)
      .where('running', '=', requestId)
      .execute();
  }

  /** Adds what a request brought and what was answered, and frees the conversation. */
  async finish(
    { id, accountId, requestId }: { id: string; accountId: string; requestId: string },
    items: readonly NamedItem[],
  ): Promise<void> {
    const sealed = await this.#seal({ accountId, id }, items);
    const total = await this.#db.transaction().execute(async (tx) => {
      await requireOn(tx, accountId, 0);
      const bytes = await this.#append(tx, { accountId, id }, sealed);
      await tx
        .updateTable('conversation')
        .set({ running: null, running_since: null })
        .where('id', '=', id)
        .where('running', '=', requestId)
        .execute();
      return bytes;
    });
    await this.#parts.space.makeRoom(accountId, total);
  }

  async #stateOf(requestId: string, since: number): Promise<'running' | 'ending' | 'over'> {
    const request = await this.#db
      .selectFrom('request')
      .select('state')
      .where('id', '=', requestId)
      .executeTakeFirst();
    if (request) return request.state === 'pending' ? 'running' : 'ending';
    return since > this.#parts.clock.now() - ADMISSION_MS ? 'running' : 'over';
  }

  /** Before the transaction, which others wait for. */
  async #seal({ accountId, id }: Owned, items: readonly NamedItem[]): Promise<SealedItem[]> {
    const sealed: SealedItem[] = [];
    let characters = 0;
    for (const item of items) {
      const text = JSON.stringify(item);
      const label = { part: 'item', accountId, id, itemId: item.id } as const;
      sealed.push({ id: item.id, item: await this.#sealed.seal(label, text) });
      characters += text.length;
      if (characters < LONG_TEXT) continue;
      characters = 0;
      await nextTurn();
    }
    return sealed;
  }

  /** Returns what the account takes now; 0 where there is no such conversation. Their row is locked meanwhile. */
  async #append(
    tx: Transaction<Schema>,
    { accountId, id }: Owned,
    sealed: readonly SealedItem[],
  ): Promise<number> {
    const itemBytes = sealed.reduce((sum, { item }) => sum + item.byteLength, 0);
    const bytes = itemBytes + ROW_BYTES * sealed.length;
    const whole = await tx
      .updateTable('conversation')
      .set((set) => ({
        bytes: set('bytes', '+', bytes),
        item_bytes: set('item_bytes', '+', itemBytes),
        last_place: set('last_place', '+', sealed.length),
      }))
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('created_at', '>', this.#since())
      .returning('last_place')
      .executeTakeFirst();
    if (!whole) return 0;
    const first = whole.last_place - sealed.length + 1;
    const rows = sealed.map((one, index) => ({
      ...one,
      account_id: accountId,
      conversation_id: id,
      place: first + index,
    }));
    for (let from = 0; from < rows.length; from += READ_TOGETHER)
      await tx
        .insertInto('conversation_item')
        .values(rows.slice(from, from + READ_TOGETHER))
        .execute();
    return await addBytes(tx, accountId, bytes);
  }

  async #openItem(row: {
    readonly id: string;
    readonly account_id: string;
    readonly conversation_id: string;
    readonly item: Uint8Array;
  }): Promise<NamedItem> {
    const label = { accountId: row.account_id, id: row.conversation_id, itemId: row.id };
    // Written by `#append` alone.
    return (await this.#sealed.open({ part: 'item', ...label }, row.item)).value as NamedItem;
  }

  #found(id: string, accountId: string) {
    return this.#db
      .selectFrom('conversation')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('created_at', '>', this.#since());
  }

  #since(): number {
    return this.#parts.clock.now() - this.#parts.rules().keepMs;
  }
}

/** Counts bytes for the account, and locks it. Throws where its owner has switched this off. */
async function requireOn(tx: Transaction<Schema>, accountId: string, bytes: number): Promise<void> {
  const counted = await tx
    .insertInto('response_storage')
    .values({ account_id: accountId, bytes })
    .onConflict((conflict) =>
      conflict
        .column('account_id')
        .doUpdateSet((set) => ({ bytes: set('response_storage.bytes', '+', bytes) }))
        .where('response_storage.off_at', 'is', null),
    )
    .returning('bytes')
    .executeTakeFirst();
  if (!counted)
    throw new Fault('invalid_field', 'This account stores nothing: its owner has switched that off.', {
      param: 'conversation',
    });
}
