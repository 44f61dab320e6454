import { createHash } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../../std/clock.ts';
import { randomPart } from '../../std/ids.ts';
import type { Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { checkNewPassword, type Passwords } from './password.ts';
import { replacePassword } from './people.ts';
import { AuthRefusal } from './refusal.ts';

/**
 * Links with which somebody who forgot their password chooses a new one. An operator makes them and passes them on;
 * Tollgate sends no mail. Second factor, passkeys and API token stay as they are.
 */
export interface ResetLinks {
  /** A new link, which ends the one before it. `also` runs inside the transaction. Throws `not_found` or `conflict`. */
  make(link: NewResetLink, also?: (tx: Transaction<Schema>) => Promise<void>): Promise<MadeResetLink>;
  /** Whose link it is and until when it is good; `undefined`: it is not. */
  check(token: string): Promise<ResetLink | undefined>;
  /**
   * Sets the password, once: of any number of calls at once exactly one succeeds, and the others get `code_invalid`. Every
   * session of the account ends. `also` runs inside the transaction.
   */
  use(
    given: { readonly token: string; readonly password: string },
    also?: (tx: Transaction<Schema>, link: ResetLink) => Promise<void>,
  ): Promise<ResetLink>;
}

export interface NewResetLink {
  readonly accountId: string;
  /** The account of an admin, or `cli`. */
  readonly createdBy: string;
  readonly lifeMs: number;
}

export interface MadeResetLink {
  /** 256 random bits, shown once: only a hash is kept. */
  readonly token: string;
  readonly expiresAt: number;
}

export interface ResetLink {
  readonly accountId: string;
  readonly email: string;
  readonly createdBy: string;
  readonly expiresAt: number;
}

export const RESET_LIFE_MS = 60 * 60_000;

/** Behind the `#`, which a browser sends to nobody: neither a log nor a `Referer` ever has it. */
export function resetPath(token: string): string {
  return `/reset-password#${token}`;
}

export function makeResetLinks(parts: {
  readonly store: Store;
  readonly passwords: Passwords;
  readonly clock: Clock;
}): ResetLinks {
  const { store, passwords, clock } = parts;
  return {
    async make({ accountId, createdBy, lifeMs }, also) {
      await requireActive(store.db, accountId);
      const token = randomPart(43);
      const created_at = clock.now();
      const link = {
        token_hash: hashOf(token),
        created_by: createdBy,
        created_at,
        expires_at: created_at + lifeMs,
      };
      await store.db.transaction().execute(async (tx) => {
        await tx
          .insertInto('reset_link')
          .values({ account_id: accountId, ...link })
          .onConflict((conflict) => conflict.column('account_id').doUpdateSet(link))
          .execute();
        await also?.(tx);
      });
      await store.durable();
      return { token, expiresAt: link.expires_at };
    },
    check: (token) => find(store.db, token, clock.now()),
    async use({ token, password }, also) {
      // Looked at before the password is hashed, so that a wrong token costs nothing; the transaction decides.
      const link = await find(store.db, token, clock.now());
      if (!link) throw notGood();
      await checkNewPassword(password, link.email);
      const hash = await passwords.hash(password);
      await store.db.transaction().execute(async (tx) => {
        const now = clock.now();
        const { numDeletedRows } = await tx
          .deleteFrom('reset_link')
          .where('token_hash', '=', hashOf(token))
          .where('expires_at', '>', now)
          .executeTakeFirstOrThrow();
        if (numDeletedRows === 0n) throw notGood();
        await replacePassword(tx, { id: link.accountId, email: link.email, hash, now });
        await also?.(tx, link);
      });
      await store.durable();
      return link;
    },
  };
}

async function requireActive(db: Kysely<Schema>, accountId: string): Promise<void> {
  const account = await db
    .selectFrom('account')
    .select('status')
    .where('id', '=', accountId)
    .where('role', '!=', 'system')
    .executeTakeFirst();
  if (!account) throw new AuthRefusal('not_found', 'There is no such account.');
  if (account.status !== 'active')
    throw new AuthRefusal('conflict', 'This account is disabled. Enable it before you make a reset link.');
}

async function find(db: Kysely<Schema>, token: string, now: number): Promise<ResetLink | undefined> {
  const row = await db
    .selectFrom('reset_link')
    .innerJoin('account', 'account.id', 'reset_link.account_id')
    .select(['account.id', 'account.email', 'reset_link.created_by', 'reset_link.expires_at'])
    .where('reset_link.token_hash', '=', hashOf(token))
    .where('reset_link.expires_at', '>', now)
    .where('account.status', '=', 'active')
    .executeTakeFirst();
  return row && { accountId: row.id, email: row.email, createdBy: row.created_by, expiresAt: row.expires_at };
}

/** 256 random bits need no slow hash, and a look-up by hash needs no constant-time comparison. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function notGood(): AuthRefusal {
  return new AuthRefusal(
    'code_invalid',
    'This reset link is not valid any more: it was used, replaced by a newer one, or is too old.',
    { param: 'token' },
  );
}
