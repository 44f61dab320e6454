import { sql, type Kysely } from 'kysely';
import { DAY_MS } from '../std/calendar.ts';
import { seal, unseal } from '../catalog/seal.ts';
import type { Clock } from '../std/clock.ts';
import { newOutboxId, type Random } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { Schema } from '../store/schema.ts';
import type { OutboxKind, OutboxRow } from '../store/schema-services.ts';

/**
 * Everything that is sent by mail or webhook. A message is written in the transaction that causes it, so it is sent if
 * and only if that commits: at least once, under an id that never changes.
 */
export interface Outbox {
  /**
   * Adds a message within the caller's transaction. Returns its id; `undefined`: one with this `once` is there already, or
   * too many are waiting, which never fails the transaction. After a posting that is idempotent by itself, such as one of
   * the ledger, a message with a `once` made of the same key may follow in a transaction of its own.
   */
  add(tx: Kysely<Schema>, message: NewOutboxMessage): Promise<string | undefined>;
  /** What a row says; `undefined`: erased, or encrypted with another secret. */
  read(row: Pick<OutboxRow, 'id' | 'payload'>): unknown;
  /** Gives up what is too old and deletes what was finished long ago. Called periodically. */
  sweep(): Promise<void>;
}

interface NewOutboxMessage {
  readonly kind: OutboxKind;
  /** The event of a webhook, the template of a mail. */
  readonly topic: string;
  /** Whose mail or webhook it is: the account with which it is deleted; '' for the operator. */
  readonly accountId: string;
  /** A mail address, or the id of a webhook. */
  readonly to: string;
  readonly payload: unknown;
  /** A message with this key is added at most once while its row is kept, which is 35 days after it was sent. */
  readonly once?: string | undefined;
  /** How long it is of any use. */
  readonly lifeMs?: number | undefined;
  /** How long the sender leaves it alone, so that the caller can send it at once by its id. */
  readonly delayMs?: number | undefined;
}

interface OutboxParts {
  readonly db: Kysely<Schema>;
  /** Encrypts what messages say while they wait. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How many messages may wait, of all nodes. */
  readonly maxWaiting?: number | undefined;
}

const LIFE_MS = 4 * DAY_MS;
const KEPT_MS = 35 * DAY_MS;
const MAX_PAYLOAD = 64_000;
/** One destination that does not answer must not fill the table. */
const MAX_WAITING_EACH = 500;
const MAX_WAITING = 100_000;
/** How long a node relies on its last count of what all nodes have added, plus what it added itself since. */
const COUNTED_MS = 1_000;
const SWEEP_BATCH = 500;

export function makeOutbox(parts: OutboxParts): Outbox {
  const { db, clock, log } = parts;
  const isFullForAll = makeTotalBound(parts);
  return {
    async add(tx, message) {
      const refuse = (reason: string): undefined =>
        log.warn('outbox_message_dropped', { kind: message.kind, topic: message.topic, reason }) as undefined;
      if (await isFullForAll(tx)) return refuse('the outbox is full');
      if (await isFull(tx, message.to)) return refuse('too many messages wait for this destination');
      const row = newRow(parts, message);
      const inserted = await tx
        .insertInto('outbox')
        .values(row)
        .onConflict((conflict) => conflict.column('once').doNothing())
        .returning('id')
        .executeTakeFirst();
      return inserted?.id;
    },
    read: (row) => readPayload(parts.key, row),
    async sweep() {
      const now = clock.now();
      await db
        .updateTable('outbox')
        .set({ state: 'failed', payload: null, finished_at: now })
        .where(isWaiting)
        .where('expires_at', '<=', now)
        .where('next_at', '<=', now)
        .execute();
      const old = db
        .selectFrom('outbox')
        .select('id')
        .where('finished_at', '<', now - KEPT_MS)
        .limit(SWEEP_BATCH);
      await db.deleteFrom('outbox').where('id', 'in', old).execute();
    },
  };
}

/** Literal text, or the planner does not use the partial index. */
export const isWaiting = sql<boolean>`state = 'waiting'`;

async function isFull(tx: Kysely<Schema>, destination: string): Promise<boolean> {
  const row = await tx
    .selectFrom('outbox')
    .select('id')
    .where('destination', '=', destination)
    .where(isWaiting)
    .offset(MAX_WAITING_EACH - 1)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function countWaitingByKind(db: Kysely<Schema>): Promise<Record<OutboxKind, number>> {
  const rows = await db
    .selectFrom('outbox')
    .select((select) => ['kind', select.fn.countAll<number | string>().as('count')])
    .where(isWaiting)
    .groupBy('kind')
    .execute();
  const counts = { mail: 0, webhook: 0 };
  for (const { kind, count } of rows) counts[kind] = Number(count);
  return counts;
}

/** Whether as many wait in the store as may; counts the message that is added if not. */
function makeTotalBound({ clock, maxWaiting = MAX_WAITING }: OutboxParts) {
  let waiting = 0;
  let countedAt = -Infinity;
  return async (tx: Kysely<Schema>): Promise<boolean> => {
    const now = clock.now();
    if (Math.abs(now - countedAt) >= COUNTED_MS) {
      waiting = await countWaiting(tx, maxWaiting);
      countedAt = now;
    }
    if (waiting >= maxWaiting) return true;
    waiting++;
    return false;
  };
}

async function countWaiting(db: Kysely<Schema>, most: number): Promise<number> {
  const { count } = await db
    .selectFrom(db.selectFrom('outbox').select('id').where(isWaiting).limit(most).as('waiting'))
    .select((select) => select.fn.countAll<number | string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

function newRow({ key, clock, random }: OutboxParts, message: NewOutboxMessage) {
  const now = clock.now();
  const id = newOutboxId(now, random);
  const text = JSON.stringify(message.payload);
  if (text.length > MAX_PAYLOAD)
    throw new RangeError(`a message of ${text.length} characters: ${message.topic}`);
  return {
    id,
    kind: message.kind,
    topic: message.topic,
    account_id: message.accountId,
    destination: message.to,
    once: message.once ?? null,
    payload: seal(key, { name: id, origin: message.kind }, text),
    next_at: now + (message.delayMs ?? 0),
    expires_at: now + (message.lifeMs ?? LIFE_MS),
    created_at: now,
  };
}

function readPayload(key: Uint8Array, { id, payload }: Pick<OutboxRow, 'id' | 'payload'>): unknown {
  if (payload === null) return undefined;
  const text = unseal(key, id, payload);
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

/** Encrypts what waits anew, for another secret of the server. */
export async function resealOutbox(
  db: Kysely<Schema>,
  { from, to }: { readonly from: Uint8Array; readonly to: Uint8Array },
): Promise<void> {
  const rows = await db.selectFrom('outbox').select(['id', 'kind', 'payload']).where(isWaiting).execute();
  for (const { id, kind, payload } of rows) {
    const text = payload === null ? undefined : unseal(from, id, payload);
    if (text === undefined) continue;
    const sealed = seal(to, { name: id, origin: kind }, text);
    await db.updateTable('outbox').set({ payload: sealed }).where('id', '=', id).execute();
  }
}
