import type { Kysely } from 'kysely';
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
}

const RETENTION_MS = 30 * 86_400_000;
const PROMPT_CHARACTERS = 2_000;
const SWEEP_BATCH = 200;

export function makeImageStore(db: Kysely<Schema>, clock: Clock, random: Random = systemRandom): ImageStore {
  return {
    async save({ image, requestId, prompt }) {
      const id = `img_${random.text(22)}`;
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
        .execute();
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
