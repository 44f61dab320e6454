import { sql, type Kysely } from 'kysely';
import { monthOf } from '../std/calendar.ts';
import type { Spent } from './balance-days.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/** The address of a person; teams, members and apps have a name instead. */
export const DISPLAY_NAME = sql<string>`coalesce(name, email)`;

/**
 * The price group of whoever pays for a person's requests: they themselves, if they have chosen their own balance, or the
 * team that they are in.
 */
export async function priceGroupOf(
  { db }: { readonly db: Kysely<Schema> },
  id: string,
  wallet: 'own' | 'team' = 'team',
): Promise<string | undefined> {
  const row = await db
    .selectFrom('account as a')
    .leftJoin('account as m', (join) => join.onRef('m.person_id', '=', 'a.id').on('m.ended_at', 'is', null))
    .leftJoin('account as w', 'w.id', 'm.wallet_id')
    .select(['a.price_group as own', 'w.id as team', 'w.price_group as teams'])
    .where('a.id', '=', id)
    .executeTakeFirst();
  return (wallet === 'team' && row?.team ? row.teams : row?.own) ?? undefined;
}

/** A price group that wallets are in and a catalog does not have: they pay its list prices. */
export interface LostGroup {
  readonly group: string;
  readonly wallets: number;
}

export async function lostGroups(db: Kysely<Schema>, kept: Iterable<string>): Promise<LostGroup[]> {
  const rows = await db
    .selectFrom('account')
    .select((select) => ['price_group', select.fn.countAll<number | string>().as('wallets')])
    .where('price_group', 'is not', null)
    .where('ended_at', 'is', null)
    .groupBy('price_group')
    .orderBy('price_group')
    .execute();
  const names = new Set(kept);
  return rows.flatMap(({ price_group: group, wallets }) =>
    group === null || names.has(group) ? [] : [{ group, wallets: Number(wallets) }],
  );
}

export function accountById(db: Kysely<Schema>, id: string): Promise<AccountRow | undefined> {
  return db
    .selectFrom('account')
    .selectAll()
    .where('id', '=', id)
    .where('role', '!=', 'system')
    .executeTakeFirst();
}

/** Whether money was ever added to the account, in any way. */
export async function everFunded(db: Kysely<Schema>, accountId: string): Promise<boolean> {
  const row = await db
    .selectFrom('entry')
    .select('id')
    .where('account_id', '=', accountId)
    .where('amount', '>', 0)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** `month_spent` counts for the month in `month`; in a later month nothing has been spent yet. */
export function monthSpent(row: Pick<AccountRow, 'month' | 'month_spent'>, now: number): number {
  return row.month === monthOf(now) ? row.month_spent : 0;
}

/** The id of the account with an email address; anything else is taken as an id. */
export async function accountNamed(db: Kysely<Schema>, idOrEmail: string): Promise<string> {
  if (!idOrEmail.includes('@')) return idOrEmail;
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('email', '=', idOrEmail.toLowerCase())
    .executeTakeFirst();
  return row?.id ?? idOrEmail;
}

/** E-mail addresses of the accounts on one page, and names of teams and apps, by id. */
export async function emailsOf(db: Kysely<Schema>, ids: readonly string[]): Promise<Map<string, string>> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return new Map();
  const rows = await db
    .selectFrom('account')
    .select(['id', DISPLAY_NAME.as('email')])
    .where('id', 'in', unique)
    .execute();
  return new Map(rows.map(({ id, email }) => [id, email]));
}

/** Names of those who sign in to the accounts on one page, by id. */
export async function namesOf(db: Kysely<Schema>, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom('auth_user').select(['id', 'name']).where('id', 'in', ids).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

interface AccountTotals {
  readonly total: number;
  readonly disabled: number;
  /** As text: the sum over many accounts may exceed the safe integers. */
  readonly balance: string;
  readonly held: string;
}

/** Reads all accounts, which are far fewer than the rows of other tables. */
export async function accountTotals({ db, reader }: Parts): Promise<AccountTotals> {
  const [row] = await reader.all(
    db
      .selectFrom('account')
      .select([
        sql<number>`coalesce(sum(CASE WHEN kind = 'person' THEN 1 ELSE 0 END), 0)`.as('total'),
        sql<number>`coalesce(sum(CASE WHEN kind = 'person' AND status = 'disabled' THEN 1 ELSE 0 END), 0)`.as(
          'disabled',
        ),
        sql<string>`CAST(coalesce(sum(balance), 0) AS TEXT)`.as('balance'),
        sql<string>`CAST(coalesce(sum(held), 0) AS TEXT)`.as('held'),
      ])
      .where('role', '!=', 'system'),
  );
  return row ?? { total: 0, disabled: 0, balance: '0', held: '0' };
}

export function topSpenders({ db, reader }: Parts, now: number, limit: number) {
  return reader.all(
    db
      .selectFrom('account')
      .select(['id', DISPLAY_NAME.as('email'), 'month_spent'])
      // A team has spent what its accounts have.
      .where('wallet_id', 'is', null)
      .where('month', '=', monthOf(now))
      .where('month_spent', '>', 0)
      .where('role', '!=', 'system')
      .orderBy('month_spent', 'desc')
      .limit(limit),
  );
}

/** The accounts whose requests a wallet pays for: a person's own, or all that a team has or had. */
export async function spendersOf(db: Kysely<Schema>, walletId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('account')
    .select('id')
    .where('wallet_id', '=', walletId)
    .orderBy('id')
    .execute();
  // A team has had one account at least: that of whoever made it.
  return rows.length > 0 ? rows.map(({ id }) => id) : [walletId];
}

/** The charges of these accounts together, for each day from `since` (yyyymmdd) on. */
export async function spentByDay(
  db: Kysely<Schema>,
  spenders: readonly string[],
  from: number,
): Promise<Spent[]> {
  return await db
    .selectFrom('usage_day')
    .select(['day', sql<number>`CAST(sum(charged) AS BIGINT)`.as('charged')])
    .where('account_id', 'in', spenders)
    .where('day', '>=', from)
    .groupBy('day')
    .execute();
}
