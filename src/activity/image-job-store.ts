import { sql, type Kysely, type Selectable } from 'kysely';
import { extraUsageOf, type Usage } from '../ledger/price.ts';
import type { Clock } from '../std/clock.ts';
import type { ImageJobTable } from '../store/schema-services.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ImageStore } from './image-store.ts';

interface NewImageJob {
  /** The request's, which has a hold. */
  readonly id: string;
  readonly accountId: string;
  /** JSON of what another process needs to know of the request. */
  readonly request: string;
  readonly createdAt: number;
  readonly deadline: number;
  /** The backend that already works on it, and its own id of the job. */
  readonly backend?: string | undefined;
  readonly backendJob?: string | undefined;
}

type AcceptedJob = Pick<NewImageJob, 'request' | 'deadline'> & { readonly backendJob: string };

export type ImageJobRow = Selectable<ImageJobTable>;

/** A job that nobody came to end. */
interface UnendedJob extends Pick<ImageJobRow, 'id' | 'deadline' | 'request'> {
  /** Its images are stored and charged. */
  readonly isPaid: boolean;
}

export interface InterruptedJob extends ImageJobRow {
  /** How far the meter of its hold has come. */
  readonly delivered: Usage;
}

const DELIVERED = [
  'hold.input_tokens',
  'hold.cached_tokens',
  'hold.output_tokens',
  'hold.reasoning_tokens',
  'hold.images',
  'hold.extra',
] as const;

function deliveredOf(row: Pick<Selectable<Schema['hold']>, 'images' | 'extra' | TokenColumn>): Usage {
  return {
    input: row.input_tokens,
    cached: row.cached_tokens,
    output: row.output_tokens,
    reasoning: row.reasoning_tokens,
    images: row.images,
    ...extraUsageOf(row.extra),
  };
}

type TokenColumn = `${'input' | 'cached' | 'output' | 'reasoning'}_tokens`;

/** How long a job that has ended can be asked for. */
const KEPT_MS = 7 * 86_400_000;
/** A node that released a hold says right after why the job failed; if it has not after this long, it is gone. */
const ENDING_MS = 60_000;
const TOGETHER = 100;

/** Called once for each job, in the transaction that ends it. */
export type OnImageJobEnded = (tx: Kysely<Schema>, job: ImageJobRow) => Promise<void>;

interface ImageJobStoreParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly images: Pick<ImageStore, 'removeOfRequest'>;
  readonly onEnded: OnImageJobEnded;
}

/** The rows of image jobs. */
export class ImageJobStore {
  readonly #store: Store;
  readonly #db: Kysely<Schema>;
  readonly #clock: Clock;
  readonly #images: Pick<ImageStore, 'removeOfRequest'>;
  readonly #onEnded: OnImageJobEnded;

  constructor({ store, clock, images, onEnded }: ImageJobStoreParts) {
    this.#store = store;
    this.#db = store.db;
    this.#clock = clock;
    this.#images = images;
    this.#onEnded = onEnded;
  }

  /** Whoever is told the job's id may ask for it after a power cut. */
  async add(job: NewImageJob): Promise<void> {
    const { id, accountId, request, createdAt, deadline, backend, backendJob } = job;
    await this.#db
      .insertInto('image_job')
      .values({
        id,
        account_id: accountId,
        state: backend === undefined ? 'queued' : 'running',
        backend,
        backend_job: backendJob,
        request,
        deadline,
        created_at: createdAt,
      })
      .execute();
    await this.#store.durable();
  }

  /** A backend is called; what another one has said before does not count any more. */
  async started(id: string, backend: string, request: string): Promise<void> {
    await this.#open(id).set({ state: 'running', backend, backend_job: null, request }).execute();
  }

  /** The backend has jobs of its own: until the deadline another process can go on with them. */
  async accepted(id: string, { backendJob, deadline, request }: AcceptedJob): Promise<void> {
    await this.#open(id).set({ backend_job: backendJob, deadline, request }).execute();
    await this.#store.durable();
  }

  /** The images are stored; the job is done when they are charged. */
  async delivered(id: string, result: string): Promise<void> {
    await this.#open(id).set({ result }).execute();
  }

  async done(id: string): Promise<void> {
    await this.#end(id, { state: 'done' });
  }

  /** What was stored and not charged is deleted. */
  async failed(id: string, error: string): Promise<void> {
    if (await this.#end(id, { state: 'failed', result: null, error })) await this.#images.removeOfRequest(id);
  }

  /** Somebody waited for it and was answered. */
  async forget(id: string): Promise<void> {
    await this.#db.deleteFrom('image_job').where('id', '=', id).where('ended_at', 'is', null).execute();
  }

  /** Somebody waited for it and was not answered. What was stored and not charged is deleted. */
  async abandon(id: string): Promise<void> {
    await this.#images.removeOfRequest(id);
    await this.forget(id);
  }

  async find(id: string, accountId: string): Promise<ImageJobRow | undefined> {
    return await this.#db
      .selectFrom('image_job')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }

  /** Jobs that nobody seems to go on with; `adopt` of the ledger says whether that is so. */
  async forsaken(limit: number): Promise<ImageJobRow[]> {
    const now = this.#clock.now();
    return await this.#leftAlone(now)
      .where('image_job.backend_job', 'is not', null)
      .where('image_job.deadline', '>', now)
      .limit(limit)
      .execute();
  }

  /** Interrupted jobs that no process can continue: their backend has no job, or it is too late. */
  async interrupted(): Promise<InterruptedJob[]> {
    const now = this.#clock.now();
    const rows = await this.#leftAlone(now)
      .select([...DELIVERED])
      .where((where) => where.or([where('backend_job', 'is', null), where('image_job.deadline', '<=', now)]))
      .limit(TOGETHER)
      .execute();
    return rows.map((row) => ({ ...row, delivered: deliveredOf(row) }));
  }

  /** Jobs at a backend whose hold has a lease that ran out. */
  #leftAlone(now: number) {
    return this.#db
      .selectFrom('image_job')
      .innerJoin('hold', 'hold.id', 'image_job.id')
      .selectAll('image_job')
      .where('image_job.ended_at', 'is', null)
      .where('image_job.backend', 'is not', null)
      .where('hold.lease_until', '<=', now)
      .orderBy('image_job.deadline');
  }

  /** Jobs whose hold was closed by somebody who did not come to end them, and whether they were charged. */
  async unended(): Promise<UnendedJob[]> {
    const before = this.#clock.now() - ENDING_MS;
    const rows = await this.#db
      .selectFrom('image_job')
      .leftJoin('closed_request as receipt', 'receipt.id', 'image_job.id')
      .select([
        'image_job.id',
        'image_job.deadline',
        'image_job.result',
        'image_job.request',
        'receipt.state',
      ])
      .where('image_job.ended_at', 'is', null)
      .where(sql<boolean>`NOT EXISTS (SELECT 1 FROM hold WHERE hold.id = image_job.id)`)
      .where((where) =>
        where.or([
          where('receipt.outcome', '=', 'expired'),
          where.and([where('receipt.state', '=', 'posted'), where('image_job.result', 'is not', null)]),
          where('receipt.finished_at', '<', before),
          // A crash of the database can lose a hold whose request goes on, and which is written again in the end.
          where.and([where('receipt.id', 'is', null), where('image_job.deadline', '<', before)]),
        ]),
      )
      .limit(TOGETHER)
      .execute();
    return rows.map(({ id, deadline, request, result, state }) => ({
      id,
      deadline,
      request,
      isPaid: result !== null && state === 'posted',
    }));
  }

  /** Deletes jobs that ended long ago, a bounded number at a time. */
  async sweep(): Promise<number> {
    const old = await this.#db
      .selectFrom('image_job')
      .select('id')
      .where('ended_at', '<', this.#clock.now() - KEPT_MS)
      .limit(TOGETHER)
      .execute();
    const ids = old.map(({ id }) => id);
    if (ids.length > 0) await this.#db.deleteFrom('image_job').where('id', 'in', ids).execute();
    return ids.length;
  }

  #open(id: string) {
    return this.#db.updateTable('image_job').where('id', '=', id).where('ended_at', 'is', null);
  }

  async #end(id: string, end: { state: 'done' | 'failed'; result?: null; error?: string }): Promise<boolean> {
    const isEnded = await this.#db.transaction().execute(async (tx) => {
      const row = await tx
        .updateTable('image_job')
        .set({ ...end, request: null, backend_job: null, ended_at: this.#clock.now() })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .returningAll()
        .executeTakeFirst();
      if (row) await this.#onEnded(tx, row);
      return row !== undefined;
    });
    await this.#store.durable();
    return isEnded;
  }
}
