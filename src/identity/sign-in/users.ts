import type { Transaction } from 'kysely';
import { z } from 'zod';
import type { Clock } from '../../std/clock.ts';
import { newAccountId, randomPart, type AccountId } from '../../std/ids.ts';
import type { Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { checkNewPassword, type Passwords } from './password.ts';
import { Fault } from '../../std/fault.ts';

/**
 * Users who can sign in. A user and their account have the same id and are created in one transaction, so that neither
 * exists without the other, even after a crash.
 */
export interface Users {
  /**
   * Throws `invalid_field`, `weak_password` or `email_taken`. Both callbacks run inside the transaction, the first before
   * the account exists, the second after it was created.
   */
  create(user: NewUser, beforeInsert?: InTransaction, afterInsert?: InTransaction): Promise<AccountId>;
  /** Sets the first or a new password of an existing account. Ends its sessions, its second factor and its passkeys. */
  setPassword(accountId: string, password: string): Promise<void>;
  checkPassword(accountId: string, password: string): Promise<boolean>;
  endSessions(accountId: string): Promise<void>;
  /** When the password of this account, or of this email address, was set; `undefined`: there is none. */
  passwordSetAt(
    who: { readonly accountId: string } | { readonly email: string },
  ): Promise<number | undefined>;
}

type InTransaction = (tx: Transaction<Schema>, id: AccountId) => Promise<void>;

export interface NewUser {
  readonly email: string;
  readonly password: string;
  readonly name?: string | undefined;
  /** Never from a request's body: `admin` comes only from the setup or from an admin's explicit action. */
  readonly role: 'user' | 'admin';
  /** Absent: a new one. */
  readonly id?: AccountId | undefined;
}

interface UsersParts {
  readonly store: Store;
  readonly passwords: Passwords;
  readonly clock: Clock;
}

export const MAX_NAME = 100;

export function makeUsers({ store, passwords, clock }: UsersParts): Users {
  return {
    async create(user, beforeInsert, afterInsert) {
      const email = normalEmail(user.email);
      await checkNewPassword(user.password, email);
      // Before the transaction: hashing is slow, and SQLite has one writer.
      const hash = await passwords.hash(user.password);
      const id = user.id ?? newAccountId(clock.now());
      await store.db.transaction().execute(async (tx) => {
        await beforeInsert?.(tx, id);
        await insertAccount(tx, { id, email, role: user.role, now: clock.now() });
        await insertSignIn(tx, { id, email, name: nameOf(user), hash, now: clock.now() });
        await afterInsert?.(tx, id);
      });
      await store.durable();
      return id;
    },
    async setPassword(accountId, password) {
      const account = await store.db
        .selectFrom('account')
        .select('email')
        .where('id', '=', accountId)
        .where('role', '!=', 'system')
        .executeTakeFirst();
      if (!account) throw new Fault('not_found', 'There is no such account.');
      await checkNewPassword(password, account.email);
      const hash = await passwords.hash(password);
      await store.db.transaction().execute(async (tx) => {
        await tx.deleteFrom('auth_two_factor').where('userId', '=', accountId).execute();
        await tx.deleteFrom('auth_passkey').where('userId', '=', accountId).execute();
        await tx.deleteFrom('reset_link').where('account_id', '=', accountId).execute();
        await replacePassword(tx, { id: accountId, email: account.email, hash, now: clock.now() });
        await tx
          .updateTable('auth_user')
          .set({ twoFactorEnabled: false })
          .where('id', '=', accountId)
          .execute();
      });
      await store.durable();
    },
    async checkPassword(accountId, password) {
      const row = await store.db
        .selectFrom('auth_account')
        .select('password')
        .where('userId', '=', accountId)
        .where('providerId', '=', 'credential')
        .executeTakeFirst();
      return row?.password ? passwords.verify(password, row.password) : false;
    },
    async endSessions(accountId) {
      await store.db.deleteFrom('auth_session').where('userId', '=', accountId).execute();
      await store.durable();
    },
    async passwordSetAt(who) {
      const row = await store.db
        .selectFrom('auth_account')
        .innerJoin('auth_user', 'auth_user.id', 'auth_account.userId')
        .select('auth_account.updatedAt')
        .where((where) =>
          'email' in who
            ? where('auth_user.email', '=', who.email)
            : where('auth_user.id', '=', who.accountId),
        )
        .where('auth_account.providerId', '=', 'credential')
        .executeTakeFirst();
      return row && new Date(row.updatedAt).getTime();
    },
  };
}

/** Inserts the account of a new user. Throws `email_taken`: an existing account is never given to a new user with its address. */
export async function insertAccount(
  tx: Transaction<Schema>,
  account: { id: string; email: string; role: 'user' | 'admin'; now: number },
): Promise<void> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('account')
    .values({ id: account.id, email: account.email, role: account.role, created_at: account.now })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) {
    throw new Fault('email_taken', 'There is an account with this email address already.', {
      param: 'email',
    });
  }
}

/** Sets an account's first or a new password. Ends its sessions, its trusted devices and unfinished sign-ins. */
export async function replacePassword(tx: Transaction<Schema>, user: Omit<SignIn, 'name'>): Promise<void> {
  await tx.deleteFrom('auth_session').where('userId', '=', user.id).execute();
  await tx.deleteFrom('auth_verification').where('value', '=', user.id).execute();
  await tx
    .deleteFrom('auth_account')
    .where('userId', '=', user.id)
    .where('providerId', '=', 'credential')
    .execute();
  await insertSignIn(tx, { ...user, name: '' });
}

interface SignIn {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly hash: string;
  readonly now: number;
}

async function insertSignIn(tx: Transaction<Schema>, user: SignIn): Promise<void> {
  const at = new Date(user.now).toISOString();
  const stamps = { createdAt: at, updatedAt: at };
  await tx
    .insertInto('auth_user')
    .values({ id: user.id, email: user.email, name: user.name, emailVerified: false, ...stamps })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  await tx
    .insertInto('auth_account')
    .values({
      id: randomPart(24),
      accountId: user.id,
      providerId: 'credential',
      userId: user.id,
      password: user.hash,
      ...stamps,
    })
    .execute();
}

function nameOf(user: NewUser): string {
  return (user.name ?? '').normalize('NFKC').trim().slice(0, MAX_NAME);
}

const MAX_LENGTH = 254;
const emailSchema = z.email().max(MAX_LENGTH);

/**
 * The canonical spelling of an address, made before anything is checked or looked up: a full-width "＠" or "ｅ" becomes the
 * plain one first, so that it can neither bypass the check nor create a second account that looks the same.
 */
export function normalEmail(text: string): string {
  const email = text.normalize('NFKC').trim().toLowerCase();
  if (text.length > 2 * MAX_LENGTH || !emailSchema.safeParse(email).success) {
    throw new Fault('invalid_field', 'This is not an email address.', { param: 'email' });
  }
  return email;
}
