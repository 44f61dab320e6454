import { sql, type Kysely } from 'kysely';
import { systemRandom, type Random } from '../std/ids.ts';
import type { Clock } from '../std/clock.ts';
import type { Schema } from '../store/schema.ts';

/** Generated images, kept for links and for the gallery until they expire. */
export interface ImageStore {
  /** Stores one image of a request that is in the ledger; returns its id. */
  save(image: NewImage): Promise<string>;
  read(id: string): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly mime: string } | undefined>;
  /** Deletes what has expired, a bounded number at a time. */
  sweep(): Promise<number>;
}

export interface NewImage {
  readonly image: { readonly bytes: Uint8Array; readonly mime: string };
  readonly requestId: string;
  readonly prompt: string;
  /** For an image that may be saved twice, by processes that go on with each other's work: it is kept once. */
  readonly id?: string | undefined;
}

const RETENTION_MS = 30 * 86_400_000;
const PROMPT_CHARACTERS = 2_000;
const SWEEP_BATCH = 200;

/** What the images of one account may occupy; the oldest make room for new ones. */
export const IMAGE_QUOTA_BYTES = 1_073_741_824;

export interface ImageStoreOptions {
  readonly clock: Clock;
  readonly random?: Random;
  readonly quotaBytes?: number;
}

export function makeImageStore(db: Kysely<Schema>, options: ImageStoreOptions): ImageStore {
  const { clock, random = systemRandom, quotaBytes = IMAGE_QUOTA_BYTES } = options;
  const quota = new ImageQuota(db, quotaBytes);
  return {
    async save({ image, requestId, prompt, id = `img_${random.text(22)}` }) {
      const now = clock.now();
      const { account_id } = await db
        .selectFrom('request')
        .select('account_id')
        .where('id', '=', requestId)
        .executeTakeFirstOrThrow();
      await db
        .insertInto('image')
        .values({
          id,
          account_id,
          request_id: requestId,
          mime: image.mime,
          bytes: Buffer.from(image.bytes),
          size: image.bytes.byteLength,
          prompt: prompt.slice(0, PROMPT_CHARACTERS).replaceAll('\0', ''),
          created_at: now,
          expires_at: now + RETENTION_MS,
        })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
      await quota.added(account_id, image.bytes.byteLength);
      return id;
    },
    async read(id) {
      const row = await db
        .selectFrom('image')
        .select(['bytes', 'mime'])
        .where('id', '=', id)
        .where('expires_at', '>', clock.now())
        .executeTakeFirst();
      return row && { bytes: new Uint8Array(row.bytes), mime: row.mime };
    },
    async sweep() {
      const old = await db
        .selectFrom('image')
        .select('id')
        .where('expires_at', '<=', clock.now())
        .limit(SWEEP_BATCH)
        .execute();
      if (old.length > 0)
        await db
          .deleteFrom('image')
          .where(
            'id',
            'in',
            old.map(({ id }) => id),
          )
          .execute();
      return old.length;
    },
  };
}

/** Accounts whose use is remembered, so that saving an image does not add up all of them. */
const MAX_REMEMBERED = 1_000;

class ImageQuota {
  readonly #db: Kysely<Schema>;
  readonly #quotaBytes: number;
  /** At least what the account occupies as far as this node knows; counted again when it exceeds the quota. */
  readonly #used = new Map<string, number>();

  constructor(db: Kysely<Schema>, quotaBytes: number) {
    this.#db = db;
    this.#quotaBytes = quotaBytes;
  }

  async added(accountId: string, bytes: number): Promise<void> {
    const before = this.#used.get(accountId);
    const used = before === undefined ? await imageBytesOf(this.#db, accountId) : before + bytes;
    this.#remember(accountId, used > this.#quotaBytes ? await this.#trim(accountId) : used);
  }

  /** Deletes the oldest images beyond the quota; returns what is left. */
  async #trim(accountId: string): Promise<number> {
    const newestFirst = await this.#db
      .selectFrom('image')
      .select(['id', imageLength.as('bytes')])
      .where('account_id', '=', accountId)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .execute();
    let used = 0;
    const beyond: string[] = [];
    for (const { id, bytes } of newestFirst) {
      if (beyond.length === 0 && used + bytes <= this.#quotaBytes) used += bytes;
      else beyond.push(id);
    }
    for (let at = 0; at < beyond.length; at += SWEEP_BATCH)
      await this.#db
        .deleteFrom('image')
        .where('id', 'in', beyond.slice(at, at + SWEEP_BATCH))
        .execute();
    return used;
  }

  #remember(accountId: string, used: number): void {
    if (this.#used.size >= MAX_REMEMBERED && !this.#used.has(accountId)) this.#used.clear();
    this.#used.set(accountId, used);
  }
}

/** Both databases know a value's length without reading it; `size` stands behind the bytes, which would be read. */
const imageLength = sql<number>`length(bytes)`;

/** What the images of an account occupy. */
export async function imageBytesOf(db: Kysely<Schema>, accountId: string): Promise<number> {
  const { used } = await db
    .selectFrom('image')
    .select(sql<number>`CAST(COALESCE(SUM(length(bytes)), 0) AS BIGINT)`.as('used'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return used;
}
