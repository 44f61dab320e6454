import { sql, type Kysely } from 'kysely';
import { spanOf } from '../ledger/archive.ts';
import { Fault } from '../std/fault.ts';
import { requestIdAt, type AccountId, type RequestId } from '../std/ids.ts';
import { COMPLETED } from '../store/receipt-codes.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { Reader } from './reader.ts';

/** What a client says about its request: OpenAI's fields, as they came. */
interface SaidTags {
  readonly user?: unknown;
  readonly metadata?: unknown;
}

interface TaggedCall {
  readonly requestId: RequestId;
  /** Absent from a request that says nothing. */
  readonly tags?: SaidTags | undefined;
}

interface TagRow {
  readonly wallet_id: string;
  readonly request_id: string;
  readonly name: string;
  readonly value: string;
}

/** As long as OpenAI allows in `metadata`. */
const LONGEST_VALUE = 512;
/** How many requests are written in one statement. */
const TOGETHER = 100;
/** A change may be seen this much later than others that are dated after it. */
const OVERLAP_MS = 60_000;

/**
 * Keeps the tags of requests for wallets whose owners asked for them. They are written between the admission and the first
 * call of a backend, so every charge has its tags whatever ends the process; a request of any other wallet costs a look into a map.
 */
export class RequestTags {
  readonly #store: Store;
  /** The names to keep, by wallet; empty while nobody asks for tags. */
  readonly #chosen = new Map<string, readonly string[]>();
  /** The last change that was seen. */
  #seenTo = 0;
  #waiting: { readonly rows: readonly TagRow[]; readonly written: PromiseWithResolvers<void> }[] = [];
  #isWriting = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** `undefined`: there is nothing to keep. Otherwise the request waits, and fails where the store does. */
  keep(
    { requestId, tags }: TaggedCall,
    { accountId, walletId = accountId }: { accountId: AccountId; walletId?: AccountId | undefined },
  ): Promise<void> | undefined {
    if (tags === undefined || this.#chosen.size === 0) return undefined;
    const names = this.#chosen.get(walletId);
    if (!names) return undefined;
    const rows = names.flatMap((name) => {
      const value = valueOf(tags, name);
      return value === undefined ? [] : [{ wallet_id: walletId, request_id: requestId, name, value }];
    });
    return rows.length === 0 ? undefined : this.#write(rows);
  }

  /** Of a request that another process admitted, which may have died before it kept them. */
  async keepAdopted(call: TaggedCall, accountId: AccountId): Promise<void> {
    if (call.tags === undefined || this.#chosen.size === 0) return;
    const account = await walletOf(this.#store.db, accountId).executeTakeFirst();
    // The primary key of an account is an account id.
    await this.keep(call, { accountId, walletId: account?.wallet as AccountId | undefined });
  }

  /** Reads which choices have changed since the last time, on any node. */
  async refresh(): Promise<void> {
    const changes = await this.#store.db
      .selectFrom('tag_choice')
      .select(['wallet_id', 'names', 'changed_at'])
      .where('changed_at', '>=', this.#seenTo - OVERLAP_MS)
      .execute();
    for (const { wallet_id, names, changed_at } of changes) {
      if (names === '') this.#chosen.delete(wallet_id);
      else this.#chosen.set(wallet_id, names.split('\n'));
      this.#seenTo = Math.max(this.#seenTo, changed_at);
    }
  }

  #write(rows: readonly TagRow[]): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#waiting.push({ rows, written });
    if (!this.#isWriting) void this.#writeAll();
    return written.promise;
  }

  /** Requests that come while others are being written are written together next. */
  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, TOGETHER);
      const values = batch.flatMap(({ rows }) => rows);
      try {
        await this.#store.db
          .insertInto('request_tag')
          .values(values)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        for (const { written } of batch) written.resolve();
      } catch (cause) {
        for (const { written } of batch) written.reject(notWritten(cause));
      }
    }
    this.#isWriting = false;
  }
}

function notWritten(cause: unknown): Fault {
  return new Fault('service_unavailable', 'The service is briefly unavailable. Try again soon.', {
    cause,
    detail: 'the tags of a request could not be written',
    retryAfterMs: 1_000,
  });
}

/** `user` is the field of that name, every other name one of `metadata`. What is longer than OpenAI allows is not kept. */
function valueOf({ user, metadata }: SaidTags, name: string): string | undefined {
  const value = name === 'user' ? user : memberOf(metadata, name);
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_VALUE) return undefined;
  // Postgres takes neither in a text.
  return value.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** `__proto__` is a name like any other. */
function memberOf(metadata: unknown, name: string): unknown {
  if (typeof metadata !== 'object' || metadata === null || !Object.hasOwn(metadata, name)) return undefined;
  return Object.getOwnPropertyDescriptor(metadata, name)?.value;
}

/** The tags of one account's requests, by request; requests without tags are left out. */
export async function tagsOf(
  reader: Pick<Reader, 'all'>,
  db: Kysely<Schema>,
  { accountId, ids }: { readonly accountId: string; readonly ids: readonly string[] },
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  if (ids.length === 0) return new Map();
  const rows = await reader.all(
    db
      .selectFrom('request_tag')
      .select(['request_id', 'name', 'value'])
      .where('wallet_id', '=', walletOf(db, accountId))
      .where('request_id', 'in', ids)
      .orderBy('name'),
  );
  const found = Map.groupBy(rows, ({ request_id }) => request_id);
  return new Map(
    // Not assigned one by one: a name may be `__proto__`.
    [...found].map(([id, tags]) => [id, Object.fromEntries(tags.map(({ name, value }) => [name, value]))]),
  );
}

function walletOf(db: Kysely<Schema>, accountId: string) {
  return db
    .selectFrom('account')
    .select((row) => row.fn.coalesce('wallet_id', 'id').as('wallet'))
    .where('id', '=', accountId);
}

interface TagFilter {
  readonly walletId: string;
  readonly name: string;
  /** yyyymmdd, both inclusive, UTC. */
  readonly from: number;
  readonly to: number;
  /** Only of this account. */
  readonly accountId?: string | undefined;
  readonly limit: number;
}

/** A request gets its id on arrival and its time at its admission, by another clock. */
const SLACK_MS = 3_600_000;

function taggedReceipts(db: Kysely<Schema>, { walletId, name, from, to, accountId }: TagFilter) {
  const { fromMs } = spanOf(from);
  const { toMs } = spanOf(to);
  const query = db
    .selectFrom('request_tag as tag')
    .innerJoin('receipt', 'receipt.id', 'tag.request_id')
    .where('tag.wallet_id', '=', walletId)
    .where('tag.name', '=', name)
    .where('tag.request_id', '>=', requestIdAt(fromMs - SLACK_MS))
    .where('tag.request_id', '<', requestIdAt(toMs + SLACK_MS))
    .where('receipt.created_at', '>=', fromMs)
    .where('receipt.created_at', '<', toMs)
    .select((row) => [
      'tag.value',
      row.fn.countAll<number>().as('requests'),
      sql<number>`CAST(SUM(CASE WHEN outcome <> ${sql.lit(COMPLETED)} THEN 1 ELSE 0 END) AS BIGINT)`.as(
        'failures',
      ),
      sumOf('input_tokens'),
      sumOf('cached_tokens'),
      sumOf('output_tokens'),
      sumOf('reasoning_tokens'),
      sumOf('images'),
      sumOf('charged'),
    ]);
  return accountId === undefined ? query : query.where('receipt.account_id', '=', accountId);
}

function sumOf<
  Column extends
    | 'input_tokens'
    | 'cached_tokens'
    | 'output_tokens'
    | 'reasoning_tokens'
    | 'images'
    | 'charged',
>(column: Column) {
  return sql<number>`CAST(SUM(${sql.ref(column)}) AS BIGINT)`.as(column);
}

/** What was used under each value of a tag, the dearest first. Of receipts that are kept. */
export function usageByTag(reader: Pick<Reader, 'all'>, db: Kysely<Schema>, filter: TagFilter) {
  return reader.all(
    taggedReceipts(db, filter)
      .groupBy('tag.value')
      .orderBy('charged', 'desc')
      .orderBy('tag.value')
      .limit(filter.limit),
  );
}

/** The same by model as well, in order of value and model; `after`: where an earlier answer ended. */
export function usageByTagAndModel(
  reader: Pick<Reader, 'all'>,
  db: Kysely<Schema>,
  filter: TagFilter & { readonly after: Record<'value' | 'endpoint' | 'model', string> },
) {
  const { value, endpoint, model } = filter.after;
  return reader.all(
    taggedReceipts(db, filter)
      .innerJoin('route', 'route.id', 'receipt.route')
      .select(['route.endpoint', 'route.model'])
      .where(sql<boolean>`(tag.value, route.endpoint, route.model) > (${value}, ${endpoint}, ${model})`)
      .groupBy(['tag.value', 'route.endpoint', 'route.model'])
      .orderBy('tag.value')
      .orderBy('route.endpoint')
      .orderBy('route.model')
      .limit(filter.limit),
  );
}
