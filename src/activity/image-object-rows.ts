import { createHash } from 'node:crypto';
import { sql, type Kysely, type Transaction } from 'kysely';
import type { Clock } from '../std/clock.ts';
import { randomPart } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import { imagesUnavailable, type ImageObjects, type ImageStorages } from '../store/image-objects.ts';
import type { Schema } from '../store/schema.ts';
import { sentInPieces } from '../store/sent-in-pieces.ts';
import type { Store } from '../store/store.ts';

/** Takes no more memory than a piece of the image, whatever its reader does. */
export type ImageBody = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

interface ImageObjectParts {
  readonly store: Store;
  readonly storages: ImageStorages;
  readonly clock: Clock;
  readonly log: Log;
}

/** The row of the image that is to have an object. */
interface ImageRows {
  /** In one transaction with the note that the object is in use. False: it was there before. */
  readonly insert: (tx: Transaction<Schema>, key: string) => Promise<boolean>;
  /** Deletes what `insert` has inserted. */
  readonly undo: () => Promise<void>;
}

const NO_IMAGE_HAS_IT = sql<boolean>`NOT EXISTS (SELECT 1 FROM image WHERE image.object = image_object.id)`;

/** Longer than any write of an object takes, with all its tries. */
const GRACE_MS = 600_000;
const TOGETHER = 200;
const AT_ONCE = 8;

/**
 * The objects that images have outside of the database, by account and content: the same bytes of one account are kept
 * once, those of two accounts twice. A row is there before its object, is in use while an image has it, and goes after it.
 */
export class ImageObjectRows {
  readonly #parts: ImageObjectParts;
  readonly #db: Kysely<Schema>;
  /** The name after which the search for objects without an image goes on. */
  #checkedUpTo = '';

  constructor(parts: ImageObjectParts) {
    this.#parts = parts;
    this.#db = parts.store.db;
  }

  /** Keeps the bytes of an image that is then inserted, or throws. */
  async keep(
    { accountId, bytes, mime }: { accountId: string; bytes: Uint8Array; mime: string },
    place: ImageObjects,
    { insert, undo }: ImageRows,
  ): Promise<void> {
    const hash = createHash('sha256').update(bytes).digest('hex');
    const used = await this.#reuse({ accountId, hash, place }, insert);
    if (used) {
      // Again: somebody may have deleted it where it is kept.
      return await place.put(used.key, bytes, mime).catch(async (error: unknown) => {
        if (used.isInserted) await undo();
        throw error;
      });
    }
    const { clock, store } = this.#parts;
    const key = `${accountId}/${hash}-${randomPart(8)}`;
    const row = { id: key, account_id: accountId, place: place.place, hash };
    await this.#db
      .insertInto('image_object')
      .values({ ...row, is_used: 0, changed_at: clock.now() })
      .execute();
    await store.durable();
    await place.put(key, bytes, mime);
    const isUsed = await this.#db.transaction().execute(async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('image_object')
        .set({ is_used: 1, changed_at: clock.now() })
        .where('id', '=', key)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) throw imagesUnavailable('the write took so long that it was given up');
      if (await insert(tx, key)) return true;
      await tx.updateTable('image_object').set({ is_used: 0 }).where('id', '=', key).execute();
      return false;
    });
    if (!isUsed) await this.delete([key]);
  }

  /** The update keeps whoever deletes the last image that has the object waiting until this one has it. */
  async #reuse(
    { accountId, hash, place }: { accountId: string; hash: string; place: ImageObjects },
    insert: ImageRows['insert'],
  ): Promise<{ readonly key: string; readonly isInserted: boolean } | undefined> {
    return await this.#db.transaction().execute(async (tx) => {
      const [found] = await tx
        .updateTable('image_object')
        .set({ changed_at: this.#parts.clock.now() })
        .where('account_id', '=', accountId)
        .where('hash', '=', hash)
        .where('place', '=', place.place)
        .where('is_used', '=', 1)
        .returning('id')
        .execute();
      return found && { key: found.id, isInserted: await insert(tx, found.id) };
    });
  }

  /** All of an object; `undefined`: it is gone, or the place where it was is not configured any more. */
  async read(key: string, size: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return await this.#inPlace(key, (place) => place.read(key, 0, size));
  }

  /** The same as the body of an answer, which is not read before its reader takes it. */
  async body(key: string, size: number): Promise<ImageBody | undefined> {
    return await this.#inPlace<ImageBody>(key, (place) =>
      place.file ? place.file(key) : sentInPieces(size, (start, end) => place.read(key, start, end)),
    );
  }

  async #inPlace<T>(
    key: string,
    open: (place: ImageObjects) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const row = await this.#db
      .selectFrom('image_object')
      .select('place')
      .where('id', '=', key)
      .executeTakeFirst();
    const place = row && this.#placeOf(row.place);
    const found = place && (await open(place));
    if (!found) this.#parts.log.warn('image_object_missing', { object: key, place: row?.place });
    return found;
  }

  /** Nobody begins to use them, or stops, until the transaction ends. */
  async lock(tx: Transaction<Schema>, keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await tx
      .updateTable('image_object')
      .set({ changed_at: this.#parts.clock.now() })
      .where('id', 'in', keys)
      .execute();
  }

  /** Those of the locked keys that no image has any more; they are to be deleted when the transaction has ended. */
  async release(tx: Transaction<Schema>, keys: readonly string[]): Promise<string[]> {
    if (keys.length === 0) return [];
    const rows = await tx
      .updateTable('image_object')
      .set({ is_used: 0 })
      .where('id', 'in', keys)
      .where(NO_IMAGE_HAS_IT)
      .returning('id')
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Deletes objects that nothing uses, with their rows. What cannot be deleted now is tried again by `sweep`. */
  async delete(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += AT_ONCE)
      await Promise.all(keys.slice(at, at + AT_ONCE).map((key) => this.#delete(key)));
  }

  /** Deletes every object of a removed account, those that a crash left without an image too. */
  async deleteOf(accountId: string): Promise<void> {
    const rows = this.#db
      .updateTable('image_object')
      .set({ is_used: 0, changed_at: this.#parts.clock.now() })
      .where('account_id', '=', accountId)
      .returning('id');
    await this.delete((await rows.execute()).map(({ id }) => id));
  }

  /** Deletes what a crash or an outage has left, a bounded number at a time. */
  async sweep(): Promise<number> {
    await this.#markUnused();
    const before = this.#parts.clock.now() - GRACE_MS;
    const left = await this.#db
      .selectFrom('image_object')
      .select('id')
      .where('is_used', '=', 0)
      .where('changed_at', '<', before)
      .orderBy('changed_at')
      .limit(TOGETHER)
      .execute();
    await this.delete(left.map(({ id }) => id));
    return left.length;
  }

  /** A node of an older version deletes images without their objects. */
  async #markUnused(): Promise<void> {
    const page = await this.#db
      .selectFrom('image_object')
      .select('id')
      .where('id', '>', this.#checkedUpTo)
      .where('is_used', '=', 1)
      .orderBy('id')
      .limit(TOGETHER)
      .execute();
    this.#checkedUpTo = page.length < TOGETHER ? '' : (page.at(-1)?.id ?? '');
    if (page.length === 0) return;
    await this.#db
      .updateTable('image_object')
      .set({ is_used: 0 })
      .where(
        'id',
        'in',
        page.map(({ id }) => id),
      )
      .where('changed_at', '<', this.#parts.clock.now() - GRACE_MS)
      .where(NO_IMAGE_HAS_IT)
      .execute();
  }

  async #delete(key: string): Promise<void> {
    try {
      const row = await this.#db
        .selectFrom('image_object')
        .select('place')
        .where('id', '=', key)
        .where('is_used', '=', 0)
        .executeTakeFirst();
      if (!row) return;
      const place = this.#placeOf(row.place);
      if (!place) throw new Error(`no storage of the kind ${row.place} is configured`);
      await place.delete(key);
      await this.#db.deleteFrom('image_object').where('id', '=', key).where('is_used', '=', 0).execute();
    } catch (error) {
      this.#parts.log.warn('image_object_not_deleted', { object: key, error });
      await this.#later(key);
    }
  }

  /** One that cannot be deleted must not keep the others waiting. */
  async #later(key: string): Promise<void> {
    await this.#db
      .updateTable('image_object')
      .set({ changed_at: this.#parts.clock.now() })
      .where('id', '=', key)
      .execute()
      .catch(() => undefined);
  }

  #placeOf(kind: string): ImageObjects | undefined {
    return this.#parts.storages.find(({ place }) => place === kind);
  }
}
