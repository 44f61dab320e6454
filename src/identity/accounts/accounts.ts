import type { Selectable, Transaction } from 'kysely';
import type { Ledger } from '../../ledger/port.ts';
import type { Notices } from '../../outbox/notices.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import { newAccountId, type AccountId, type Random, type TokenHash } from '../../std/ids.ts';
import { nanoUsd, type NanoUsd } from '../../std/money.ts';
import type { AccountStatus, AccountTable, Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { lockAdmins, requireAnAdmin } from '../sign-in/setup.ts';
import { requireWallets } from '../../store/other-nodes.ts';
import { normalEmail } from '../sign-in/users.ts';
import { newToken } from './token.ts';

export type Account = Selectable<AccountTable>;

export interface AccountLimits {
  readonly chatPerMinute?: number | null | undefined;
  readonly imagesPerMinute?: number | null | undefined;
  readonly concurrent?: number | null | undefined;
  readonly monthlyLimit?: NanoUsd | null | undefined;
}

interface AccountsOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly pepper: Uint8Array;
  readonly clock: Clock;
  /** The source of account ids and tokens; the system's by default. */
  readonly random?: Random | undefined;
  /** Who is told about tokens; nobody by default. */
  readonly notices?: Pick<Notices, 'event'> | undefined;
}

const PAGE = 100;

/** Accounts and their tokens. Balances change only through the ledger. */
export class Accounts {
  readonly #o: AccountsOptions;

  constructor(options: AccountsOptions) {
    this.#o = options;
  }

  /** Creates an account with its first token, which is returned only here. */
  async create(
    email: string,
    opening: { balance?: NanoUsd; role?: 'user' | 'admin'; actor: string },
  ): Promise<{ account: Account; token: string }> {
    const now = this.#o.clock.now();
    const id = newAccountId(now, this.#o.random);
    const { token, hash, hint } = newToken(this.#o.pepper, this.#o.random?.bytes);
    const made = await this.#o.store.db
      .insertInto('account')
      .values({
        id,
        email: normalEmail(email),
        role: opening.role ?? 'user',
        token_hash: hash,
        token_hint: hint,
        token_created_at: now,
        created_at: now,
      })
      .onConflict((conflict) => conflict.column('email').doNothing())
      .returning('id')
      .executeTakeFirst();
    if (!made)
      throw new Fault('invalid_field', `There is an account for ${normalEmail(email)} already.`, {
        param: 'email',
      });
    await this.#o.store.durable();
    if (opening.balance) {
      await this.#o.ledger.post({
        accountId: id,
        kind: 'credit',
        amount: opening.balance,
        cause: 'opening balance',
        actor: opening.actor,
      });
    }
    return { account: await this.get(id), token };
  }

  async get(id: AccountId): Promise<Account> {
    return await this.#o.store.db
      .selectFrom('account')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
  }

  async find(email: string): Promise<Account | undefined> {
    return await this.#o.store.db
      .selectFrom('account')
      .selectAll()
      .where('email', '=', normalEmail(email))
      .executeTakeFirst();
  }

  async require(email: string): Promise<Account> {
    const account = await this.find(email);
    if (!account) throw new Fault('not_found', `There is no account for ${email}.`, { param: 'email' });
    return account;
  }

  /** Ordered by id, that is by age; `after` is the last id of the previous page. */
  async list(after = ''): Promise<Account[]> {
    return await this.#o.store.db
      .selectFrom('account')
      .selectAll()
      .where('role', '!=', 'system')
      .where('kind', '=', 'person')
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute();
  }

  /** One statement replaces it, so that exactly one token is valid at any moment. */
  async replaceToken(id: AccountId): Promise<string> {
    const { token, hash, hint } = newToken(this.#o.pepper, this.#o.random?.bytes);
    await this.#o.store.db.transaction().execute(async (tx) => {
      const before = await tx
        .selectFrom('account')
        .select('token_hash')
        .where('id', '=', id)
        .executeTakeFirst();
      const { numUpdatedRows } = await tx
        .updateTable('account')
        .set({
          token_hash: hash,
          token_hint: hint,
          token_created_at: this.#o.clock.now(),
          token_used_at: null,
          token_exposed_at: null,
        })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .where((where) => where.or([where('team_role', 'is', null), where('team_role', '!=', 'viewer')]))
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n)
        throw new Fault('conflict', 'This account has no token: it has ended, or only looks on in its team.');
      if (before?.token_hash) await this.#tell(tx, 'token.replaced', { id, token_hint: hint });
    });
    await this.#o.store.durable();
    return token;
  }

  /** Of any wallet, a team's too: from the next admission on it pays the prices of this group, or the list prices. */
  async setPriceGroup(id: AccountId, group: string | null): Promise<void> {
    if (group !== null) await requireWallets(this.#o.store);
    await this.#o.store.db.updateTable('account').set({ price_group: group }).where('id', '=', id).execute();
    await this.#o.store.durable();
  }

  /** `null` restores the catalog's default; an absent field changes nothing. */
  async setLimits(id: AccountId, limits: AccountLimits): Promise<void> {
    const changes = {
      ...(limits.chatPerMinute === undefined ? {} : { chat_per_minute: limits.chatPerMinute }),
      ...(limits.imagesPerMinute === undefined ? {} : { images_per_minute: limits.imagesPerMinute }),
      ...(limits.concurrent === undefined ? {} : { concurrent: limits.concurrent }),
      ...(limits.monthlyLimit === undefined ? {} : { monthly_limit: limits.monthlyLimit }),
    };
    if (Object.keys(changes).length === 0) return;
    await this.#o.store.db.updateTable('account').set(changes).where('id', '=', id).execute();
    await this.#o.store.durable();
  }

  /** A person's account in their team gets the same status. The last owner is not disabled. */
  async setStatus(id: AccountId, status: AccountStatus): Promise<void> {
    await this.#o.store.db.transaction().execute(async (tx) => {
      await lockAdmins(tx, this.#o.clock.now());
      const changed = await tx
        .updateTable('account')
        .set({ status, paused_reason: null })
        .where((where) => where.or([where('id', '=', id), where('person_id', '=', id)]))
        .returning('role')
        .execute();
      if (status !== 'active' && changed.some(({ role }) => role === 'admin')) await requireAnAdmin(tx);
    });
    await this.#o.store.durable();
  }

  /** After a dispute. Automatic top-up stays off until the owner turns it on. */
  async allowCards(id: AccountId): Promise<void> {
    await this.#o.store.db.updateTable('account').set({ cards_off_at: null }).where('id', '=', id).execute();
    await this.#o.store.durable();
  }

  async markExposed(hash: TokenHash): Promise<void> {
    await this.#o.store.db.transaction().execute(async (tx) => {
      const account = await tx
        .updateTable('account')
        .set({ token_exposed_at: this.#o.clock.now() })
        .where('token_hash', '=', hash)
        .where('token_exposed_at', 'is', null)
        .returning(['id', 'token_hint'])
        .executeTakeFirst();
      if (account) await this.#tell(tx, 'token.exposed', account);
    });
  }

  async #tell(
    tx: Transaction<Schema>,
    type: 'token.replaced' | 'token.exposed',
    { id, token_hint }: Pick<Account, 'id' | 'token_hint'>,
  ): Promise<void> {
    const data = { account: id, token_hint: token_hint ?? '' };
    await this.#o.notices?.event(tx, { accountId: id, type, data });
  }
}

/** The amounts of a row, which the database stores as plain numbers. */
export function moneyOf(account: Account): { balance: NanoUsd; held: NanoUsd; owed: NanoUsd } {
  const { balance, held, owed } = account;
  return { balance: nanoUsd(balance), held: nanoUsd(held), owed: nanoUsd(owed) };
}
