import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { AccountId, RequestId } from '../std/ids.ts';
import type { NanoUsd } from '../std/money.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** What a request with an Idempotency-Key is to do. */
export type KeyState =
  /** `retryOf`: an earlier request with this key, whose answer broke off. */
  | { readonly kind: 'started'; readonly retryOf?: string | undefined }
  | { readonly kind: 'running' }
  | { readonly kind: 'reused' }
  /** The work was done, but its answer is not kept: it was too large, made room for newer ones, or was lost in a crash. */
  | { readonly kind: 'gone'; readonly requestId: string }
  | {
      readonly kind: 'replay';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array<ArrayBuffer>;
    };

export interface IdempotencyKey {
  readonly accountId: AccountId;
  readonly key: string;
  readonly requestId: RequestId;
}

export interface FinishedAnswer extends IdempotencyKey {
  /** `undefined`: not known yet, as for a job that still runs. */
  readonly charged: NanoUsd | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: too large to be kept. */
  readonly body: Uint8Array | undefined;
}

/** How long a key is not run again. */
const KEPT_MS = 24 * 3_600_000;
/** A key whose owner is silent for this long may be taken over, unless it was charged. Renewed while the owner works. */
const LEASE_MS = 60_000;
/** Of an account: so many answers keep their bytes, and so many keys of requests that cost nothing stay. */
const MOST_PER_ACCOUNT = 1_000;
/** For a larger answer, only the key is kept. */
export const MOST_ANSWER_BYTES = 8 * 1_048_576;
const SWEEP_BATCH = 500;
/** The status of an answer that broke off. */
const BROKEN = 0;

/**
 * Answers kept under the client's Idempotency-Key: one call does the work, the others get its bytes. The key of a charged
 * request stays for a day, also when the bytes of its answer have left.
 */
export class IdempotencyStore {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** One insert decides who starts; everybody else reads what is there. */
  async begin({
    accountId,
    key,
    requestId,
    bodyHash,
  }: IdempotencyKey & { readonly bodyHash: string }): Promise<KeyState> {
    const now = this.#clock.now();
    const inserted = await this.#store.db
      .insertInto('answer')
      .values({
        account_id: accountId,
        idempotency_key: key,
        body_hash: bodyHash,
        request_id: requestId,
        state: 'running',
        lease_until: now + LEASE_MS,
        created_at: now,
      })
      .onConflict((conflict) => conflict.columns(['account_id', 'idempotency_key']).doNothing())
      .returning('request_id')
      .executeTakeFirst();
    if (inserted) return { kind: 'started' };
    return await this.#found({ accountId, key, requestId, bodyHash }, now);
  }

  /** Keeps the lease while the work goes on. */
  async renew({ accountId, key, requestId }: IdempotencyKey): Promise<void> {
    await this.#own(accountId, key, requestId)
      .set({ lease_until: this.#clock.now() + LEASE_MS })
      .execute();
  }

  async finish({ accountId, key, requestId, charged, status, headers, body }: FinishedAnswer): Promise<void> {
    const isKept = body !== undefined && body.byteLength <= MOST_ANSWER_BYTES;
    await this.#own(accountId, key, requestId)
      .set({
        state: 'done',
        status,
        charged: charged ?? null,
        ...(isKept && { headers: JSON.stringify(headers), body: Buffer.from(body) }),
      })
      .execute();
    if (isKept) await this.#dropOldBodies(accountId);
    if (charged === 0) await this.#removeOldFreeKeys(accountId);
    // A client that has seen the answer may ask for it again after a power cut.
    await this.#store.durable();
  }

  /** The answer broke off: the next request with this key does the work again, and knows of this one. */
  async breakOff({ accountId, key, requestId }: IdempotencyKey): Promise<void> {
    await this.#own(accountId, key, requestId).set({ status: BROKEN, lease_until: 0 }).execute();
  }

  /** The work failed: the key is free again. */
  async drop({ accountId, key, requestId }: IdempotencyKey): Promise<void> {
    await this.#store.db
      .deleteFrom('answer')
      .where('account_id', '=', accountId)
      .where('idempotency_key', '=', key)
      .where('request_id', '=', requestId)
      .where('state', '=', 'running')
      .execute();
  }

  /** Deletes what nobody may ask for any more, a bounded number at a time. */
  async sweep(): Promise<number> {
    const old = await this.#store.db
      .selectFrom('answer')
      .select(['account_id', 'idempotency_key'])
      .where('created_at', '<', this.#clock.now() - KEPT_MS)
      .limit(SWEEP_BATCH)
      .execute();
    for (const row of old) await this.#remove(row.account_id, row.idempotency_key);
    return old.length;
  }

  async #found(
    { accountId, key, requestId, bodyHash }: IdempotencyKey & { bodyHash: string },
    now: number,
  ): Promise<KeyState> {
    const row = await this.#store.db
      .selectFrom('answer')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('idempotency_key', '=', key)
      .executeTakeFirst();
    // The row was deleted between the two statements: the caller tries again and may start.
    if (!row) return { kind: 'running' };
    if (row.created_at < now - KEPT_MS) {
      await this.#remove(accountId, key);
      return { kind: 'running' };
    }
    if (row.body_hash !== bodyHash) return { kind: 'reused' };
    if (row.state === 'done') return replay(row);
    if (row.status === BROKEN) {
      return (await this.#takeOver(accountId, key, requestId, now))
        ? { kind: 'started', retryOf: row.request_id }
        : { kind: 'running' };
    }
    if (row.lease_until >= now) return { kind: 'running' };
    const end = await this.#endOf(row.request_id);
    if (end === 'charged') return { kind: 'gone', requestId: row.request_id };
    return end === 'free' && (await this.#takeOver(accountId, key, requestId, now))
      ? { kind: 'started' }
      : { kind: 'running' };
  }

  /**
   * What the ledger says about a request whose owner is gone. An open hold will be closed when its lease ends, and
   * only then is it known whether doing the work again would charge twice.
   */
  async #endOf(requestId: string): Promise<'open' | 'charged' | 'free'> {
    const request = await this.#store.db
      .selectFrom('request')
      .select(['state', 'charged'])
      .where('id', '=', requestId)
      .executeTakeFirst();
    if (request?.state === 'pending') return 'open';
    return request && request.charged > 0 ? 'charged' : 'free';
  }

  async #takeOver(accountId: AccountId, key: string, requestId: RequestId, now: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#store.db
      .updateTable('answer')
      .set({ request_id: requestId, lease_until: now + LEASE_MS, status: null, created_at: now })
      .where('account_id', '=', accountId)
      .where('idempotency_key', '=', key)
      .where('state', '=', 'running')
      .where('lease_until', '<', now)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  #own(accountId: AccountId, key: string, requestId: RequestId) {
    return this.#store.db
      .updateTable('answer')
      .where('account_id', '=', accountId)
      .where('idempotency_key', '=', key)
      .where('request_id', '=', requestId)
      .where('state', '=', 'running');
  }

  async #dropOldBodies(accountId: AccountId): Promise<void> {
    const surplus = await this.#beyondNewest(accountId, sql<boolean>`body IS NOT NULL`);
    if (surplus.length === 0) return;
    await this.#store.db
      .updateTable('answer')
      .set({ headers: null, body: null })
      .where('account_id', '=', accountId)
      .where('idempotency_key', 'in', surplus)
      .execute();
  }

  async #removeOldFreeKeys(accountId: AccountId): Promise<void> {
    for (const key of await this.#beyondNewest(accountId, sql<boolean>`charged = 0`))
      await this.#remove(accountId, key);
  }

  /** The condition is that of a partial index, word by word: without it, all keys of a day would be sorted. */
  async #beyondNewest(accountId: AccountId, condition: RawBuilder<boolean>): Promise<string[]> {
    const surplus = await this.#store.db
      .selectFrom('answer')
      .select('idempotency_key')
      .where('account_id', '=', accountId)
      .where(condition)
      .orderBy('created_at', 'desc')
      .orderBy('idempotency_key', 'desc')
      .offset(MOST_PER_ACCOUNT)
      .limit(SWEEP_BATCH)
      .execute();
    return surplus.map((row) => row.idempotency_key);
  }

  async #remove(accountId: string, key: string): Promise<void> {
    await this.#store.db
      .deleteFrom('answer')
      .where('account_id', '=', accountId)
      .where('idempotency_key', '=', key)
      .execute();
  }
}

type DoneRow = Pick<Selectable<Schema['answer']>, 'request_id' | 'status' | 'headers' | 'body'>;

function replay({ request_id, status, headers, body }: DoneRow): KeyState {
  if (body === null) return { kind: 'gone', requestId: request_id };
  return {
    kind: 'replay',
    status: status ?? 200,
    // Written by `finish` as JSON of exactly this type.
    headers: JSON.parse(headers ?? '{}') as Record<string, string>,
    body: new Uint8Array(body),
  };
}
