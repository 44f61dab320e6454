import { createHash } from 'node:crypto';
import { sql, type Kysely, type Transaction } from 'kysely';
import { creditWithin } from '../../ledger/credit.ts';
import type { Clock } from '../../std/clock.ts';
import { randomPart, type AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import type { Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { NewPerson, People } from './people.ts';
import { AuthRefusal } from './refusal.ts';

/** The first run: a one-time token makes the first admin. Once there is an admin, setup does not exist any more. */
export interface Setup {
  needed(): Promise<boolean>;
  /**
   * A new token, good for half an hour, for the link that the operator is shown. It is kept in the store, so that any
   * node honours it, and only as a hash. `undefined` when there is an admin already.
   */
  issue(): Promise<{ readonly token: string; readonly expiresAt: number } | undefined>;
  /** Until when a token is good; `undefined`: it is not. */
  check(token: string): Promise<number | undefined>;
  /** Makes the first admin, with a starting credit. Of any number of calls at once exactly one succeeds; the others get `not_found`. */
  consume(token: string, person: Omit<NewPerson, 'role'>): Promise<AccountId>;
}

export const SETUP_LIFE_MS = 30 * 60_000;

export function createSetup({ store, people, clock }: { store: Store; people: People; clock: Clock }): Setup {
  // There is always an admin once there was one, so the answer needs to be looked up only until then.
  let done = false;
  const isDone = async (): Promise<boolean> => {
    done ||= await hasAdmin(store.db);
    return done;
  };
  // Within a process they take turns, so that only the first of a flood has its password hashed.
  let turn: Promise<unknown> = Promise.resolve();
  const oneByOne = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
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
      if (await isDone()) throw gone();
      return expiryOf(store.db, token, clock.now());
    },
    consume: (token, person) =>
      oneByOne(async () => {
        if (await isDone()) throw gone();
        // Looked at before the password is hashed, so that a wrong token costs nothing; the transaction decides.
        if ((await expiryOf(store.db, token, clock.now())) === undefined) throw wrongToken();
        const alone = async (tx: Transaction<Schema>): Promise<void> => {
          await lockAdmins(tx, clock.now());
          if (await hasAdmin(tx)) throw gone();
          if ((await expiryOf(tx, token, clock.now())) === undefined) throw wrongToken();
          await tx.deleteFrom('setting').where('key', 'like', 'setup_token:%').execute();
        };
        return people.create({ ...person, role: 'admin' }, alone, (tx, id) =>
          giveStartingCredit(tx, id, clock.now()),
        );
      }),
  };
}

/** So that the first call of a new server, in its setup, is answered: the built-in models are not free. */
const STARTING_CREDIT = nanoUsd(10_000_000_000);
const STARTING_CREDIT_KEY = 'setup:starting-credit';

/** Once in the life of the books, even if the last admin is removed by hand and the setup comes back. */
async function giveStartingCredit(tx: Transaction<Schema>, accountId: AccountId, now: number): Promise<void> {
  const given = await tx
    .selectFrom('entry')
    .select('id')
    .where('once', '=', STARTING_CREDIT_KEY)
    .executeTakeFirst();
  if (given) return;
  await creditWithin(tx, {
    accountId,
    amount: STARTING_CREDIT,
    once: STARTING_CREDIT_KEY,
    cause: 'starting credit of the first administrator',
    actor: 'setup',
    now,
  });
}

/**
 * Everything that changes who is an admin passes here first: an upsert of one row keeps others out until the end of the
 * transaction, on both databases.
 */
export async function lockAdmins(tx: Transaction<Schema>, now: number): Promise<void> {
  await tx
    .insertInto('setting')
    .values({ key: 'admin_lock', value: '', updated_at: now })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ updated_at: now }))
    .execute();
}

export async function hasAdmin(db: Kysely<Schema>): Promise<boolean> {
  // As literal text: the partial index of admins is found only that way.
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

/** 256 random bits need no slow hash, and a look-up by hash needs no constant-time comparison. */
function keyOf(token: string): string {
  return `setup_token:${createHash('sha256').update(token).digest('hex')}`;
}

function gone(): AuthRefusal {
  return new AuthRefusal('not_found', 'There is nothing here.');
}

function wrongToken(): AuthRefusal {
  return new AuthRefusal(
    'code_invalid',
    'This setup link is not valid any more. Start Tollgate again for a new one.',
    {
      param: 'token',
    },
  );
}
