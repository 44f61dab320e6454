import { createHash } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../../std/clock.ts';
import { randomPart } from '../../std/ids.ts';
import type { Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { checkNewPassword, type Passwords } from './password.ts';
import { replacePassword } from './users.ts';
import { Fault } from '../../std/fault.ts';

/**
 * Links for setting a new password when the old one is forgotten. An operator creates a link and passes it on, or it is
 * sent by mail where that is configured. Second factor, passkeys and API token stay as they are.
 */
export interface ResetLinks {
  /** Creates a link, which replaces the previous one. `also` runs inside the transaction. Throws `not_found` or `conflict`. */
  make(
    link: NewResetLink,
    also?: (tx: Transaction<Schema>, made: MadeResetLink) => Promise<void>,
  ): Promise<MadeResetLink>;
  /** The account of a link and its expiry; `undefined`: the link is not valid. */
  check(token: string): Promise<ResetLink | undefined>;
  /**
   * Sets the password, once: of any number of concurrent calls exactly one succeeds, and the others get `code_invalid`.
   * Every session of the account ends. `also` runs inside the transaction.
   */
  use(
    given: { readonly token: string; readonly password: string },
    also?: (tx: Transaction<Schema>, link: ResetLink) => Promise<void>,
  ): Promise<ResetLink>;
}

interface NewResetLink {
  readonly accountId: string;
  /** An admin's account id, `cli` or `mail`. */
  readonly createdBy: string;
  readonly lifeMs: number;
}

interface MadeResetLink {
  /** 256 random bits, shown once: only a hash is stored. */
  readonly token: string;
  readonly expiresAt: number;
}

interface ResetLink {
  readonly accountId: string;
  readonly email: string;
  readonly createdBy: string;
  readonly expiresAt: number;
}

export const RESET_LIFE_MS = 60 * 60_000;

/** After the `#`, which a browser never sends: neither a log nor a `Referer` contains it. */
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
        await also?.(tx, { token, expiresAt: link.expires_at });
      });
      await store.durable();
      return { token, expiresAt: link.expires_at };
    },
    check: (token) => find(store.db, token, clock.now()),
    async use({ token, password }, also) {
      // Checked before the password is hashed, so that a wrong token costs nothing; the transaction decides.
      const link = await find(store.db, token, clock.now());
      if (!link) throw invalidLink();
      await checkNewPassword(password, link.email);
      const hash = await passwords.hash(password);
      await store.db.transaction().execute(async (tx) => {
        const now = clock.now();
        const { numDeletedRows } = await tx
          .deleteFrom('reset_link')
          .where('token_hash', '=', hashOf(token))
          .where('expires_at', '>', now)
          .executeTakeFirstOrThrow();
        if (numDeletedRows === 0n) throw invalidLink();
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
  if (!account) throw new Fault('not_found', 'There is no such account.');
  if (account.status !== 'active')
    throw new Fault('conflict', 'This account is disabled. Enable it before you make a reset link.');
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

function invalidLink(): Fault {
  return new Fault(
    'code_invalid',
    'This reset link is not valid any more: it was used, replaced by a newer one, or is too old.',
    { param: 'token' },
  );
}
