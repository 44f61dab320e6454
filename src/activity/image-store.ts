import { BoundedQueue } from '../std/bounded-queue.ts';
import { sql, type Kysely } from 'kysely';
import type { Clock } from '../std/clock.ts';
import type { Random } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { ImageStorages } from '../store/image-objects.ts';
import type { Schema } from '../store/schema.ts';
import { sentInPieces, type ReadPart } from '../store/sent-in-pieces.ts';
import type { Store } from '../store/store.ts';
import { ImageObjectRows, type ImageBody } from './image-object-rows.ts';

interface NewImage {
  readonly image: StoredBytes;
  readonly requestId: string;
  readonly prompt: string;
  /** JSON of what else the request said. */
  readonly parameters?: string | undefined;
  /** For an image that may be saved twice, by processes that go on with each other's work: it is kept once. */
  readonly id?: string | undefined;
}

interface StoredBytes {
  readonly bytes: Uint8Array;
  readonly mime: string;
}

/** An image as it is stored: nothing of it is in memory until somebody asks for its bytes. */
export interface KeptImage {
  readonly mime: string;
  /** In bytes. */
  readonly size: number;
  /** All of it; `undefined`: it is gone. */
  bytes(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The same as the body of an answer, at its reader's pace. */
  body(): Promise<ImageBody | undefined>;
}

const RETENTION_MS = 30 * 86_400_000;
const PROMPT_CHARACTERS = 2_000;
const TOGETHER = 200;

/** What the images of one account may occupy; the oldest make room for new ones. */
export const IMAGE_QUOTA_BYTES = 1_073_741_824;

interface ImageStoreOptions {
  readonly store: Store;
  /** New images go to the first; without one, into rows of the database. */
  readonly storages: ImageStorages;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly quotaBytes: number;
}

/** Generated images, kept for links and for the gallery until they expire. */
export class ImageStore {
  readonly #options: ImageStoreOptions;
  readonly #db: Kysely<Schema>;
  readonly #objects: ImageObjectRows;
  /** At least what the account occupies as far as this node knows; counted again when it exceeds the quota. */
  readonly #used = new Map<string, number>();

  constructor(options: ImageStoreOptions) {
    this.#options = options;
    this.#db = options.store.db;
    this.#objects = new ImageObjectRows(options);
  }

  /** Stores one image of a request that is in the ledger; returns its id. */
  async save({ image, requestId, prompt, parameters, id }: NewImage): Promise<string> {
    const { clock, random, storages } = this.#options;
    const { account_id } = await this.#db
      .selectFrom('request')
      .select('account_id')
      .where('id', '=', requestId)
      .executeTakeFirstOrThrow();
    const now = clock.now();
    const pixels = await pixelSizeOf(image.bytes);
    const row = {
      id: id ?? `img_${random.text(22)}`,
      account_id,
      request_id: requestId,
      mime: image.mime,
      size: image.bytes.byteLength,
      prompt: prompt.slice(0, PROMPT_CHARACTERS).replaceAll('\0', ''),
      created_at: now,
      expires_at: now + RETENTION_MS,
      width: pixels?.width ?? null,
      height: pixels?.height ?? null,
      parameters: parameters ?? null,
    };
    const insert = async (db: Kysely<Schema>, object: string | null, bytes: Uint8Array): Promise<boolean> => {
      const values = { ...row, object, bytes: Buffer.from(bytes) };
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('image')
        .values(values)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    };
    const [place] = storages;
    if (place)
      await this.#objects.keep({ accountId: account_id, ...image }, place, {
        insert: (tx, key) => insert(tx, key, NO_BYTES),
        undo: async () => void (await this.remove(account_id, row.id)),
      });
    else await insert(this.#db, null, image.bytes);
    await this.#added(account_id, row.size);
    return row.id;
  }

  async find(id: string): Promise<KeptImage | undefined> {
    return (await this.#find([id])).get(id);
  }

  async findOwn(accountId: string, id: string): Promise<KeptImage | undefined> {
    return (await this.findAllOwn(accountId, [id])).get(id);
  }

  /** By id; images of other accounts are not found. */
  async findAllOwn(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, KeptImage>> {
    return await this.#find(ids, accountId);
  }

  /** What is left of the images of a request, in the order in which they were made. */
  async findOfRequest(accountId: string, requestId: string): Promise<ReadonlyMap<string, KeptImage>> {
    const rows = await this.#db
      .selectFrom('image')
      .select(['id', 'mime', 'object', imageLength.as('size')])
      .where('request_id', '=', requestId)
      .where('account_id', '=', accountId)
      .where('expires_at', '>', this.#options.clock.now())
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(rows.map((row) => [row.id, this.#kept(row)]));
  }

  /** At most 256 pixels wide and high, made once; the image itself where none can be made. */
  async thumbnail(accountId: string, id: string): Promise<KeptImage | undefined> {
    const made = await this.#db
      .selectFrom('image_thumbnail')
      .innerJoin('image', 'image.id', 'image_thumbnail.image_id')
      .select('image_thumbnail.bytes')
      .where('image.id', '=', id)
      .where('image.account_id', '=', accountId)
      .where('image.expires_at', '>', this.#options.clock.now())
      .executeTakeFirst();
    if (made) return thumbnailOf(new Uint8Array(made.bytes));
    const image = await this.findOwn(accountId, id);
    const bytes = image && (await makeThumbnail(image));
    if (!bytes) return image;
    // An image that is deleted at this moment must not leave it behind.
    await sql`INSERT INTO image_thumbnail (image_id, account_id, bytes)
      SELECT id, account_id, ${Buffer.from(bytes)} FROM image WHERE id = ${id} ON CONFLICT (image_id) DO NOTHING`.execute(
      this.#db,
    );
    return thumbnailOf(bytes);
  }

  /** False: the account has no such image. */
  async remove(accountId: string, id: string): Promise<boolean> {
    const found = this.#removable().where('id', '=', id).where('account_id', '=', accountId);
    return (await this.#removeAll(await found.execute())) > 0;
  }

  /** Removes those that belong to the account, and tells how many these were. */
  async removeSome(accountId: string, ids: readonly string[]): Promise<number> {
    const found = this.#removable().where('id', 'in', ids).where('account_id', '=', accountId);
    return await this.#removeAll(await found.execute());
  }

  async removeOfRequest(requestId: string): Promise<void> {
    await this.#removeAll(await this.#removable().where('request_id', '=', requestId).execute());
  }

  /** Whatever there is of an account: images are large, so a bounded number in each transaction. */
  async removeOfAccount(accountId: string): Promise<void> {
    const some = this.#removable().where('account_id', '=', accountId).limit(TOGETHER);
    while ((await this.#removeAll(await some.execute())) > 0);
    await this.#objects.deleteOf(accountId);
    await this.#db.deleteFrom('image_thumbnail').where('account_id', '=', accountId).execute();
  }

  /** Deletes what has expired, a bounded number at a time. */
  async sweep(): Promise<number> {
    const old = this.#removable().where('expires_at', '<=', this.#options.clock.now()).limit(TOGETHER);
    return await this.#removeAll(await old.execute());
  }

  async sweepObjects(): Promise<number> {
    return await this.#objects.sweep();
  }

  async #find(ids: readonly string[], accountId?: string): Promise<Map<string, KeptImage>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('image')
      .select(['id', 'mime', 'object', imageLength.as('size')])
      .where('id', 'in', ids)
      .where('expires_at', '>', this.#options.clock.now())
      .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
      .execute();
    return new Map(rows.map((row) => [row.id, this.#kept(row)]));
  }

  #kept({ id, mime, object, size }: ImageRow): KeptImage {
    if (object !== null) {
      const objects = this.#objects;
      return { mime, size, bytes: () => objects.read(object, size), body: () => objects.body(object, size) };
    }
    const read: ReadPart = (start, end) => this.#readRow(id, start, end);
    return { mime, size, bytes: () => read(0, size), body: () => sentInPieces(size, read) };
  }

  /** Both databases count the bytes of a value from one. */
  async #readRow(id: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const row = await this.#db
      .selectFrom('image')
      .select(
        sql<Uint8Array>`substr(bytes, CAST(${start + 1} AS INTEGER), CAST(${end - start} AS INTEGER))`.as(
          'part',
        ),
      )
      .where('id', '=', id)
      .executeTakeFirst();
    return row && new Uint8Array(row.part);
  }

  #removable() {
    return this.#db.selectFrom('image').select(['id', 'object']);
  }

  async #removeAll(
    rows: readonly { readonly id: string; readonly object: string | null }[],
  ): Promise<number> {
    if (rows.length === 0) return 0;
    const ids = rows.map(({ id }) => id);
    const keys = [...new Set(rows.flatMap(({ object }) => object ?? []))].toSorted();
    const unused = await this.#db.transaction().execute(async (tx) => {
      await this.#objects.lock(tx, keys);
      await tx.deleteFrom('image_thumbnail').where('image_id', 'in', ids).execute();
      await tx.deleteFrom('image').where('id', 'in', ids).execute();
      return await this.#objects.release(tx, keys);
    });
    await this.#objects.delete(unused);
    return rows.length;
  }

  async #added(accountId: string, bytes: number): Promise<void> {
    const before = this.#used.get(accountId);
    const used = before === undefined ? await imageBytesOf(this.#db, accountId) : before + bytes;
    this.#remember(accountId, used > this.#options.quotaBytes ? await this.#trim(accountId) : used);
  }

  /** Deletes the oldest images beyond the quota; returns what is left. */
  async #trim(accountId: string): Promise<number> {
    const newestFirst = await this.#db
      .selectFrom('image')
      .select(['id', 'object', imageLength.as('length')])
      .where('account_id', '=', accountId)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .execute();
    let used = 0;
    const beyond: { id: string; object: string | null }[] = [];
    for (const { length, ...row } of newestFirst) {
      if (beyond.length === 0 && used + length <= this.#options.quotaBytes) used += length;
      else beyond.push(row);
    }
    for (let at = 0; at < beyond.length; at += TOGETHER)
      await this.#removeAll(beyond.slice(at, at + TOGETHER));
    return used;
  }

  #remember(accountId: string, used: number): void {
    if (this.#used.size >= MAX_REMEMBERED && !this.#used.has(accountId)) this.#used.clear();
    this.#used.set(accountId, used);
  }
}

interface ImageRow {
  readonly id: string;
  readonly mime: string;
  readonly object: string | null;
  readonly size: number;
}

const NO_BYTES = new Uint8Array(0);

/** So small that it is in memory. */
function thumbnailOf(bytes: Uint8Array<ArrayBuffer>): KeptImage {
  const whole = () => Promise.resolve(bytes);
  return { mime: 'image/webp', size: bytes.byteLength, bytes: whole, body: whole };
}

/** Accounts whose use is remembered, so that saving an image does not add up all of them. */
const MAX_REMEMBERED = 1_000;

/**
 * Both databases know a value's length without reading it; `size` stands behind the bytes, which would be read. Of an
 * image that has an object there are none.
 */
const imageLength = sql<number>`CASE WHEN object IS NULL THEN length(bytes) ELSE size END`;

/** What the images of an account occupy. */
export async function imageBytesOf(db: Kysely<Schema>, accountId: string): Promise<number> {
  const { used } = await db
    .selectFrom('image')
    .select(sql<number>`CAST(COALESCE(SUM(${imageLength}), 0) AS BIGINT)`.as('used'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return used;
}

const EDGE = 256;
const QUALITY = 80;
/** Four bytes of memory for each. */
const MAX_PIXELS = 50_000_000;

/** Each takes a thread of Bun's and the memory of its pixels; whoever opens a page of the gallery wants many. */
const queue = new BoundedQueue({ parallel: 2, waiting: 200 });

/**
 * A small WebP; `undefined` if the image cannot be decoded, or too many others wait. Made on a thread of Bun's. The image is
 * loaded when its turn has come: those that wait are not in memory.
 */
async function makeThumbnail(image: KeptImage): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const leave = await queue.enter();
  if (!leave) return undefined;
  try {
    const bytes = await image.bytes();
    if (!bytes) return undefined;
    const small = new Bun.Image(bytes, { maxPixels: MAX_PIXELS }).resize(EDGE, EDGE, {
      fit: 'inside',
      withoutEnlargement: true,
    });
    return new Uint8Array(await small.webp({ quality: QUALITY }).bytes());
  } catch {
    // A format that this machine cannot decode is shown as it is; what cannot be read says so when it is sent.
    return undefined;
  } finally {
    leave();
  }
}

/** The size that its header names; `undefined` if it names none. */
async function pixelSizeOf(
  bytes: Uint8Array,
): Promise<{ readonly width: number; readonly height: number } | undefined> {
  try {
    const { width, height } = await new Bun.Image(new Uint8Array(bytes)).metadata();
    return { width, height };
  } catch {
    // The image is delivered all the same; it was checked before.
    return undefined;
  }
}
