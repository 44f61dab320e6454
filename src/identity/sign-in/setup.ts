import { createHash } from 'node:crypto';
import { sql, type Kysely, type Transaction } from 'kysely';
import { creditWithin } from '../../ledger/credit.ts';
import type { Clock } from '../../std/clock.ts';
import { randomPart, type AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { lockRow } from '../../store/row-lock.ts';
import type { Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { NewUser, Users } from './users.ts';
import { Fault } from '../../std/fault.ts';

/** The first run: a one-time token creates the first admin. Once there is an admin, setup is no longer available. */
export interface Setup {
  needed(): Promise<boolean>;
  /**
   * A new token, valid for half an hour, for the link that the operator is shown. Its hash is in the store, so that every
   * node accepts it. `undefined` when there is an admin already.
   */
  issue(): Promise<{ readonly token: string; readonly expiresAt: number } | undefined>;
  /** When a token expires; `undefined`: it is not valid. */
  check(token: string): Promise<number | undefined>;
  /** Creates the first admin, with a starting credit. Of any number of concurrent calls exactly one succeeds; the others get `not_found`. */
  consume(token: string, user: Omit<NewUser, 'role'>): Promise<AccountId>;
}

const SETUP_LIFE_MS = 30 * 60_000;

export function createSetup({ store, users, clock }: { store: Store; users: Users; clock: Clock }): Setup {
  // Once there is an admin there always is one, so it is looked up only until then.
  let done = false;
  const isDone = async (): Promise<boolean> => {
    done ||= await hasAdmin(store.db);
    return done;
  };
  // One at a time within a process, so that of many calls at once only the first hashes its password.
  let queue: Promise<unknown> = Promise.resolve();
  const inSequence = <T>(work: () => Promise<T>): Promise<T> => {
    const result = queue.then(work);
    queue = result.catch(() => undefined);
    return result;
  };
  return {
    needed: async () => !(await isDone()),
    async issue() {
      if (await isDone()) return undefined;
      const token = randomPart(43);
      const expiresAt = clock.now() + SETUP_LIFE_MS;
      await store.db
        .insertInto('setting')
        .values({ key: keyOf(token), value: String(expiresAt), updated_at: clock.now() })
        .execute();
      await store.durable();
      return { token, expiresAt };
    },
    async check(token) {
      if (await isDone()) throw notFound();
      return expiryOf(store.db, token, clock.now());
    },
    consume: (token, user) =>
      inSequence(async () => {
        if (await isDone()) throw notFound();
        // Checked before the password is hashed, so that a wrong token costs nothing; the transaction decides.
        if ((await expiryOf(store.db, token, clock.now())) === undefined) throw wrongToken();
        const claimSetup = async (tx: Transaction<Schema>): Promise<void> => {
          await lockAdmins(tx, clock.now());
          if (await hasAdmin(tx)) throw notFound();
          if ((await expiryOf(tx, token, clock.now())) === undefined) throw wrongToken();
          await tx.deleteFrom('setting').where('key', 'like', 'setup_token:%').execute();
        };
        return users.create({ ...user, role: 'admin' }, claimSetup, (tx, id) =>
          giveStartingCredit(tx, id, clock.now()),
        );
      }),
  };
}

/** The setup makes a first call, and the built-in models are not free. */
const STARTING_CREDIT = nanoUsd(10_000_000_000);
const STARTING_CREDIT_KEY = 'setup:starting-credit';

/** Only once per ledger, even if the last admin is removed by hand and the setup is available again. */
async function giveStartingCredit(tx: Transaction<Schema>, accountId: AccountId, now: number): Promise<void> {
  const earlierCredit = await tx
    .selectFrom('entry')
    .select('id')
    .where('once', '=', STARTING_CREDIT_KEY)
    .executeTakeFirst();
  if (earlierCredit) return;
  await creditWithin(tx, {
    accountId,
    amount: STARTING_CREDIT,
    once: STARTING_CREDIT_KEY,
    cause: 'starting credit of the first administrator',
    actor: 'setup',
    now,
  });
}

/** Must come first in every transaction that changes who is an admin. */
export async function lockAdmins(tx: Transaction<Schema>, now: number): Promise<void> {
  await lockRow(tx, 'admin_lock', now);
}

export async function hasAdmin(db: Kysely<Schema>): Promise<boolean> {
  // Literal text, or the planner does not use the partial index of admins.
  const isAdmin = sql<boolean>`role = 'admin'`;
  const row = await db.selectFrom('account').select('id').where(isAdmin).limit(1).executeTakeFirst();
  return row !== undefined;
}

async function expiryOf(db: Kysely<Schema>, token: string, now: number): Promise<number | undefined> {
  const row = await db
    .selectFrom('setting')
    .select('value')
    .where('key', '=', keyOf(token))
    .executeTakeFirst();
  const expiresAt = Number(row?.value ?? 0);
  return expiresAt > now ? expiresAt : undefined;
}

/** 256 random bits need no slow hash, and a lookup by hash needs no constant-time comparison. */
function keyOf(token: string): string {
  return `setup_token:${createHash('sha256').update(token).digest('hex')}`;
}

function notFound(): Fault {
  return new Fault('not_found', 'There is nothing here.');
}

function wrongToken(): Fault {
  return new Fault(
    'code_invalid',
    'This setup link is not valid any more. Start Tollgate again for a new one.',
    {
      param: 'token',
    },
  );
}

/** Checked after the change and under the lock: two admins who demote each other at once cannot both succeed. */
export async function requireAnAdmin(tx: Transaction<Schema>): Promise<void> {
  const left = await tx
    .selectFrom('account')
    .select('id')
    .where(sql<boolean>`role = 'admin'`)
    .where('status', '=', 'active')
    .limit(1)
    .executeTakeFirst();
  if (!left) throw new Fault('last_admin', 'This is the last owner; there must always be one.');
}
