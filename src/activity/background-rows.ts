import { sql, type Kysely } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { StoredResponseState } from '../store/schema-services.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { addBytes, type ResponseSpace } from './response-space.ts';
import {
  bytesOf,
  SealedJson,
  type ResponseItems,
  type StoredAnswer,
  type StoredJob,
} from './response-store.ts';

/** How a response ends that was made in the background. */
export interface BackgroundEnd {
  readonly state: Exclude<StoredResponseState, 'queued' | 'in_progress'>;
  readonly items: ResponseItems;
  readonly answer: StoredAnswer;
}

/** A response that no process works on. */
export interface ForsakenResponse {
  readonly id: string;
  readonly accountId: string;
  readonly requestId: string;
  readonly createdAt: number;
  readonly job: StoredJob | undefined;
  readonly input: ResponseItems['input'];
  /** The output tokens that its hold covers. */
  readonly outputCap: number;
}

interface BackgroundRowsParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly space: ResponseSpace;
  readonly key: Uint8Array;
}

/** A node that closed a hold says right after how the response ended; if it has not after this long, it is gone. */
const ENDING_MS = 60_000;
const TOGETHER = 100;
const isOpen = sql<boolean>`state IN ('queued', 'in_progress')`;

/** The rows of responses that are made in the background. Each lives on the hold of its request, as image jobs do. */
export class BackgroundRows {
  readonly #parts: BackgroundRowsParts;
  readonly #db: Kysely<Schema>;
  readonly #sealed: SealedJson;

  constructor(parts: BackgroundRowsParts) {
    this.#parts = parts;
    this.#db = parts.store.db;
    this.#sealed = new SealedJson(parts.key);
  }

  async started(id: string): Promise<void> {
    await this.#db
      .updateTable('stored_response')
      .set({ state: 'in_progress' })
      .where('id', '=', id)
      .where(isOpen)
      .execute();
  }

  /** True if it was still being made. Whoever makes it finds out by `states`. */
  async cancel(id: string, accountId: string): Promise<boolean> {
    return await this.#db.transaction().execute(async (tx) => {
      // As `end` does: one of both comes first, and the other one sees what it did.
      await addBytes(tx, accountId, 0);
      const { numUpdatedRows } = await tx
        .updateTable('stored_response')
        .set({ state: 'cancelled' })
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .where(isOpen)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    });
  }

  /** The states of those jobs that still exist. */
  async states(ids: readonly string[]): Promise<ReadonlyMap<string, StoredResponseState>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('stored_response')
      .select(['id', 'state'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map(({ id, state }) => [id, state]));
  }

  /** One that was cancelled meanwhile stays so. */
  async end(id: string, accountId: string, { state, items, answer }: BackgroundEnd): Promise<void> {
    const sealed = await this.#sealed.sealResponse({ accountId, id }, items, answer);
    const bytes = bytesOf(sealed);
    const total = await this.#db.transaction().execute(async (tx) => {
      await addBytes(tx, accountId, 0);
      const row = await tx
        .selectFrom('stored_response')
        .select(['bytes', 'state'])
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .where('request_id', 'is not', null)
        .executeTakeFirst();
      if (!row) return 0;
      const wasCancelled = row.state === 'cancelled';
      const written =
        wasCancelled && state !== 'cancelled'
          ? {}
          : { items: sealed.items, item_bytes: sealed.itemBytes, bytes, state };
      await tx
        .updateTable('stored_response')
        .set({ ...written, request_id: null })
        .where('id', '=', id)
        .execute();
      return await addBytes(tx, accountId, 'bytes' in written ? bytes - row.bytes : 0);
    });
    await this.#parts.space.makeRoom(accountId, total);
  }

  /** Those whose hold has no owner any more; `adopt` of the ledger says whether that is so. */
  async forsaken(limit: number): Promise<ForsakenResponse[]> {
    const rows = await this.#db
      .selectFrom('stored_response as r')
      .innerJoin('hold', 'hold.id', 'r.request_id')
      .select(['r.id', 'r.account_id', 'r.request_id', 'r.created_at', 'r.items', 'hold.output_cap'])
      .where('r.request_id', 'is not', null)
      .where('r.state', 'in', ['queued', 'in_progress'])
      .where('hold.lease_until', '<=', this.#parts.clock.now())
      .limit(limit)
      .execute();
    return await Promise.all(rows.map((row) => this.#opened(row, row.output_cap)));
  }

  /** Those whose request is over, and whose process did not come to say how: the others, and those that were charged. */
  async unended(): Promise<(ForsakenResponse & { readonly isCharged: boolean })[]> {
    const before = this.#parts.clock.now() - ENDING_MS;
    const rows = await this.#db
      .selectFrom('stored_response as r')
      .leftJoin('closed_request as receipt', 'receipt.id', 'r.request_id')
      .select(['r.id', 'r.account_id', 'r.request_id', 'r.created_at', 'r.items', 'receipt.charged'])
      .where('r.request_id', 'is not', null)
      .where(sql<boolean>`NOT EXISTS (SELECT 1 FROM hold WHERE hold.id = r.request_id)`)
      .where((where) =>
        where.or([
          where('receipt.finished_at', '<', before),
          where.and([where('receipt.id', 'is', null), where('r.created_at', '<', before)]),
        ]),
      )
      .limit(TOGETHER)
      .execute();
    return await Promise.all(
      rows.map(async (row) => ({ ...(await this.#opened(row, 0)), isCharged: (row.charged ?? 0) > 0 })),
    );
  }

  async #opened(
    row: { id: string; account_id: string; request_id: string | null; created_at: number; items: Uint8Array },
    outputCap: number,
  ): Promise<ForsakenResponse> {
    const { id, account_id: accountId, created_at: createdAt } = row;
    const { job, input } = await this.#sealed.openItems({ accountId, id }, row.items);
    return { id, accountId, requestId: row.request_id ?? '', createdAt, job, input, outputCap };
  }
}
