import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import { addressMatcher } from '../../std/addresses.ts';
import { dayOf } from '../../std/calendar.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import { newOperatorTokenId, type AccountId } from '../../std/ids.ts';
import { formatUsd, nanoUsd, parseUsd, type NanoUsd } from '../../std/money.ts';
import { lockRow } from '../../store/row-lock.ts';
import type { Schema } from '../../store/schema.ts';
import type { OperatorRole, OperatorTokenTable } from '../../store/schema-services.ts';
import type { Store } from '../../store/store.ts';
import { lockAdmins, requireAnAdmin } from '../sign-in/setup.ts';
import { tokenColumns } from './account-limits.ts';
import { hashToken, newToken } from './token.ts';

/** Who operates: a person in the console, or a program with a token that an owner has made. */
export interface Operator {
  readonly kind: 'person' | 'token';
  /** An account's, or a token's: what the books and the audit log name. */
  readonly id: string;
  readonly role: OperatorRole;
  /** The person, or who made the token: theirs is the wallet that support gives nothing to. */
  readonly personId: AccountId;
}

export type OperatorToken = Omit<Selectable<OperatorTokenTable>, 'token_hash'>;

export interface NewOperatorToken {
  readonly name: string;
  readonly role: OperatorRole;
  readonly expiresAt: number;
  readonly networks: readonly string[] | undefined;
  readonly by: string;
}

/** The operator that a token stands for, or why it is refused; without an id, there never was such a token. */
type FoundOperator =
  | { readonly operator: Operator }
  | { readonly id: string | undefined; readonly code: 'invalid_token' | 'network_not_allowed' };

/** At once; ended and expired ones do not count. */
const MOST_TOKENS = 50;
/** The last use is written at most this often. */
const USE_MS = 60_000;

/** The people who operate, and the tokens with which programs do. */
export class Operators {
  readonly #store: Store;
  readonly #pepper: Uint8Array;
  readonly #clock: Clock;
  /** The time of the last recorded refusal, by token; only existing tokens are in it. */
  readonly #toldRefusals = new Map<string, number>();

  constructor({ store, pepper, clock }: { store: Store; pepper: Uint8Array; clock: Clock }) {
    this.#store = store;
    this.#pepper = pepper;
    this.#clock = clock;
  }

  /** `null` makes somebody a user again. Their sessions end, so that no open page has the earlier role. Never without an owner. */
  async setRole(accountId: string, role: OperatorRole | null, by: string): Promise<void> {
    const now = this.#clock.now();
    await this.#store.db.transaction().execute(async (tx) => {
      await lockAdmins(tx, now);
      const person = await tx
        .selectFrom('account')
        .select('role')
        .where('id', '=', accountId)
        .where('role', '!=', 'system')
        .where('kind', '=', 'person')
        .executeTakeFirst();
      if (!person) throw new Fault('not_found', 'There is no such person.');
      await tx
        .updateTable('account')
        .set({ role: role === 'owner' ? 'admin' : 'user' })
        .where('id', '=', accountId)
        .execute();
      await tx.deleteFrom('operator').where('account_id', '=', accountId).execute();
      if (role !== null && role !== 'owner')
        await tx
          .insertInto('operator')
          .values({ account_id: accountId, role, given_by: by, given_at: now })
          .execute();
      if (person.role === 'admin') await requireAnAdmin(tx);
      await tx.deleteFrom('auth_session').where('userId', '=', accountId).execute();
    });
    await this.#store.durable();
  }

  /** The token is returned only here. */
  async makeToken({ name, role, expiresAt, networks, by }: NewOperatorToken) {
    const now = this.#clock.now();
    if (expiresAt <= now)
      throw new Fault('invalid_field', 'The token would have expired already.', { param: 'expiresAt' });
    const { token, hash, hint } = newToken(this.#pepper, undefined, 'op-');
    const { token_networks } = tokenColumns({ networks: networks ?? null });
    const row = {
      id: newOperatorTokenId(now),
      name,
      role,
      token_hint: hint,
      networks: token_networks ?? null,
      created_by: by,
      created_at: now,
      expires_at: expiresAt,
      used_at: null,
      ended_at: null,
    };
    await this.#store.db.transaction().execute(async (tx) => {
      await lockAdmins(tx, now);
      const { count } = await tx
        .selectFrom('operator_token')
        .select((select) => select.fn.countAll<number>().as('count'))
        .where('ended_at', 'is', null)
        .where('expires_at', '>', now)
        .executeTakeFirstOrThrow();
      if (count >= MOST_TOKENS)
        throw new Fault('conflict', `There are ${MOST_TOKENS} tokens already. End one first.`);
      await tx
        .insertInto('operator_token')
        .values({ ...row, token_hash: hash })
        .execute();
    });
    await this.#store.durable();
    return { token, row };
  }

  async endToken(id: string): Promise<void> {
    const { numUpdatedRows } = await this.#store.db
      .updateTable('operator_token')
      .set({ ended_at: this.#clock.now() })
      .where('id', '=', id)
      .where('ended_at', 'is', null)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) throw new Fault('not_found', 'There is no such token, or it has ended.');
    await this.#store.durable();
  }

  /** Read for every call, so that an ended token is refused at once. A token is good for as long as whoever made it is an owner. */
  async ofToken(text: string, address: string): Promise<FoundOperator> {
    const hash = hashToken(text, this.#pepper, 'op-');
    const row = hash && (await this.#tokenByHash(hash));
    if (!row) return { id: undefined, code: 'invalid_token' };
    const { id, networks } = row;
    const now = this.#clock.now();
    const isMakerOwner = row.maker_role === 'admin' && row.maker_status === 'active';
    if (row.ended_at !== null || row.expires_at <= now || !isMakerOwner) return { id, code: 'invalid_token' };
    if (networks !== null && !addressMatcher(networks.split('\n'))(address))
      return { id, code: 'network_not_allowed' };
    if (now - (row.used_at ?? 0) > USE_MS)
      await this.#store.db.updateTable('operator_token').set({ used_at: now }).where('id', '=', id).execute();
    // Only an account's id is written there.
    const personId = row.created_by as AccountId;
    return { operator: { kind: 'token', id, role: row.role, personId } };
  }

  /** A token that is refused all the time for one reason is recorded once in a while: the audit log is never emptied. */
  mayTellRefusal(id: string, code: string): boolean {
    const now = this.#clock.now();
    const refusal = `${id} ${code}`;
    if (now - (this.#toldRefusals.get(refusal) ?? 0) <= USE_MS) return false;
    this.#toldRefusals.set(refusal, now);
    return true;
  }

  #tokenByHash(hash: string) {
    return this.#store.db
      .selectFrom('operator_token')
      .innerJoin('account', 'account.id', 'operator_token.created_by')
      .select([
        'operator_token.id',
        'operator_token.role',
        'operator_token.networks',
        'operator_token.used_at',
        'operator_token.ended_at',
        'operator_token.expires_at',
        'operator_token.created_by',
        'account.role as maker_role',
        'account.status as maker_status',
      ])
      .where('operator_token.token_hash', '=', hash)
      .executeTakeFirst();
  }

  /**
   * Counts what somebody with a limit gives before it is booked under the same key, so that many at once, and many small
   * ones, stay within it. The same key counts once. What was refused afterwards is given back by {@link notGiven}.
   */
  async countGiven(
    operator: Operator,
    gift: { once: string; walletOf: string; amount: number },
  ): Promise<void> {
    if (operator.role !== 'support') return;
    const now = this.#clock.now();
    const day = dayOf(now);
    await this.#store.db.transaction().execute(async (tx) => {
      await lockRow(tx, 'operator_grant_lock', now);
      await requireOthersWallet(tx, operator.personId, gift.walletOf);
      const { once, amount } = gift;
      const known = await tx
        .selectFrom('operator_grant')
        .select('once')
        .where('once', '=', once)
        .executeTakeFirst();
      if (known) return;
      const limit = await readSupportLimit(tx);
      const given = await givenOn(tx, operator.id, day);
      if (given + amount > limit) throw overLimit(limit, given);
      await tx.insertInto('operator_grant').values({ once, operator_id: operator.id, day, amount }).execute();
    });
  }

  /** Only what was not booked. */
  async notGiven(once: string): Promise<void> {
    await this.#store.db
      .deleteFrom('operator_grant')
      .where('once', '=', once)
      .where((where) =>
        where.not(where.exists(where.selectFrom('entry').select('id').where('entry.once', '=', once))),
      )
      .execute();
  }
}

/** Neither the own account nor the team that the person is in, through whichever of its accounts. */
async function requireOthersWallet(tx: Transaction<Schema>, personId: string, target: string): Promise<void> {
  const own = await tx
    .selectFrom('account')
    .select(['id', 'wallet_id'])
    .where((where) => where.or([where('id', '=', personId), where('person_id', '=', personId)]))
    .execute();
  const account = await tx
    .selectFrom('account')
    .select(['id', 'wallet_id'])
    .where('id', '=', target)
    .executeTakeFirst();
  const ownWallets = new Set(own.flatMap(({ id, wallet_id }) => [id, wallet_id ?? id]));
  if (account && (ownWallets.has(account.id) || ownWallets.has(account.wallet_id ?? account.id)))
    throw new Fault('not_allowed', 'Support gives nothing to its own balance, nor to that of its own team.');
}

async function givenOn(tx: Transaction<Schema>, operatorId: string, day: number): Promise<number> {
  const { given } = await tx
    .selectFrom('operator_grant')
    .select(sql<number>`CAST(coalesce(sum(amount), 0) AS BIGINT)`.as('given'))
    .where('operator_id', '=', operatorId)
    .where('day', '=', day)
    .executeTakeFirstOrThrow();
  return given;
}

function overLimit(limit: NanoUsd, given: number): Fault {
  const left = formatUsd(nanoUsd(Math.max(0, limit - given)));
  return new Fault(
    'not_allowed',
    `Support gives at most $${formatUsd(limit)} a day, and $${left} of it is left. Ask an owner, or an operator with the role full.`,
    { extra: { roles: 'owner, full', limit_usd: formatUsd(limit), left_usd: left } },
  );
}

const LIMIT_KEY = 'operators.support_limit_usd';
const USUAL_LIMIT = nanoUsd(50_000_000_000);

/** How much each person or token with the role support may give away per UTC day. */
export async function readSupportLimit(db: Kysely<Schema>): Promise<NanoUsd> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', LIMIT_KEY).executeTakeFirst();
  return (row && parseUsd(row.value)) ?? USUAL_LIMIT;
}

export async function writeSupportLimit(store: Store, limit: NanoUsd, now: number): Promise<void> {
  const value = formatUsd(limit);
  await store.db
    .insertInto('setting')
    .values({ key: LIMIT_KEY, value, updated_at: now })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, updated_at: now }))
    .execute();
  await store.durable();
}

/** The roles of those who operate, among these accounts. */
export async function operatorRoles(
  db: Kysely<Schema>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, OperatorRole>> {
  if (ids.length === 0) return new Map();
  const [owners, others] = await Promise.all([
    db.selectFrom('account').select('id').where('id', 'in', ids).where('role', '=', 'admin').execute(),
    db.selectFrom('operator').select(['account_id', 'role']).where('account_id', 'in', ids).execute(),
  ]);
  return new Map<string, OperatorRole>([
    ...others.map(({ account_id, role }) => [account_id, role] as const),
    ...owners.map(({ id }) => [id, 'owner'] as const),
  ]);
}

/** The names of those of these that are tokens. */
export async function operatorTokenNames(
  db: Kysely<Schema>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const tokens = [...new Set(ids)].filter((id) => id.startsWith('opt_'));
  if (tokens.length === 0) return new Map();
  const rows = await db
    .selectFrom('operator_token')
    .select(['id', 'name'])
    .where('id', 'in', tokens)
    .execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}
