import type { Clock } from '../std/clock.ts';
import type { AccountId, RequestId } from '../std/ids.ts';
import type { Store } from '../store/store.ts';

/** What a request with an Idempotency-Key is to do. */
export type KeyState =
  /** `retryOf`: an earlier request with this key, whose answer broke off. */
  | { readonly kind: 'started'; readonly retryOf?: string | undefined }
  | { readonly kind: 'running' }
  | { readonly kind: 'reused' }
  /** The work was done and charged, but its owner was gone before the answer could be kept. */
  | { readonly kind: 'lost'; readonly requestId: string }
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

/** How long an answer is replayed. */
const KEPT_MS = 24 * 3_600_000;
/** A key whose owner is silent for this long may be taken over, unless it was charged. Renewed while the owner works. */
const LEASE_MS = 60_000;
const MOST_PER_ACCOUNT = 1_000;
/** A larger answer is not kept, and its key becomes free again. */
const MOST_BYTES = 8 * 1_048_576;
const SWEEP_BATCH = 500;
/** The status of an answer that broke off. */
const BROKEN = 0;

/** Answers kept under the client's Idempotency-Key: one call does the work, the others get its bytes. */
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

  async finish(
    answer: IdempotencyKey & { status: number; headers: Record<string, string>; body: Uint8Array },
  ): Promise<void> {
    const { accountId, key, requestId, status, headers, body } = answer;
    if (body.byteLength > MOST_BYTES) return await this.drop(answer);
    await this.#own(accountId, key, requestId)
      .set({ state: 'done', status, headers: JSON.stringify(headers), body: Buffer.from(body) })
      .execute();
    await this.#trim(accountId);
    // A client that has seen the answer may ask for it again after a power cut.
    await this.#store.durable();
  }

  /** The answer broke off: the next request with this key does the work again, and knows of this one. */
  async breakOff({ accountId, key, requestId }: IdempotencyKey): Promise<void> {
    await this.#own(accountId, key, requestId).set({ status: BROKEN, lease_until: 0 }).execute();
  }

  /** The work failed, or its answer is too large to keep: the key is free again. */
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
    if (end === 'charged') return { kind: 'lost', requestId: row.request_id };
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
      .set({ request_id: requestId, lease_until: now + LEASE_MS, status: null })
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

  async #trim(accountId: AccountId): Promise<void> {
    const surplus = await this.#store.db
      .selectFrom('answer')
      .select('idempotency_key')
      .where('account_id', '=', accountId)
      .where('state', '=', 'done')
      .orderBy('created_at', 'desc')
      .offset(MOST_PER_ACCOUNT)
      .limit(SWEEP_BATCH)
      .execute();
    for (const row of surplus) await this.#remove(accountId, row.idempotency_key);
  }

  async #remove(accountId: string, key: string): Promise<void> {
    await this.#store.db
      .deleteFrom('answer')
      .where('account_id', '=', accountId)
      .where('idempotency_key', '=', key)
      .execute();
  }
}

function replay(row: { status: number | null; headers: string | null; body: Uint8Array | null }): KeyState {
  return {
    kind: 'replay',
    status: row.status ?? 200,
    // Written by `finish` as JSON of exactly this type.
    headers: JSON.parse(row.headers ?? '{}') as Record<string, string>,
    body: new Uint8Array(row.body ?? []),
  };
}
