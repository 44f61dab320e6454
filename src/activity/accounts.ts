import { sql, type Kysely } from 'kysely';
import { monthOf } from '../std/calendar.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { containing } from './like.ts';
import type { Reader } from './reader.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

export interface AccountFilter {
  /** Part of an e-mail address, or a whole account id. */
  readonly search?: string | undefined;
  readonly status?: 'active' | 'disabled' | undefined;
  readonly role?: 'user' | 'admin' | undefined;
}

export interface AccountCursor {
  readonly at: number;
  readonly id: string;
}

/** Accounts, newest first, without the system account that carries the operator's losses. */
export function accountPage(
  { db, reader }: Parts,
  { search, status, role }: AccountFilter,
  page: { readonly before?: AccountCursor | undefined; readonly limit: number },
): Promise<AccountRow[]> {
  const { before } = page;
  let query = db.selectFrom('account').selectAll().where('role', '!=', 'system');
  if (status !== undefined) query = query.where('status', '=', status);
  if (role === 'admin') query = query.where(sql<boolean>`role = 'admin'`);
  if (role === 'user') query = query.where('role', '=', role);
  if (search !== undefined) {
    query = search.startsWith('acc_') ? query.where('id', '=', search) : query.where(emailContains(search));
  }
  if (before) {
    query = query
      .where('created_at', '<=', before.at)
      .where((where) => where.or([where('created_at', '<', before.at), where('id', '<', before.id)]));
  }
  return reader.all(query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(page.limit));
}

function emailContains(text: string) {
  return sql<boolean>`email LIKE ${containing(text)} ESCAPE '\\'`;
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

/** The id of the account with an e-mail address; anything else is taken as an id. */
export async function accountNamed(db: Kysely<Schema>, idOrEmail: string): Promise<string> {
  if (!idOrEmail.includes('@')) return idOrEmail;
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('email', '=', idOrEmail.toLowerCase())
    .executeTakeFirst();
  return row?.id ?? idOrEmail;
}

/** E-mail addresses of the accounts on one page, by id. */
export async function emailsOf(db: Kysely<Schema>, ids: readonly string[]): Promise<Map<string, string>> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return new Map();
  const rows = await db.selectFrom('account').select(['id', 'email']).where('id', 'in', unique).execute();
  return new Map(rows.map(({ id, email }) => [id, email]));
}

export interface AccountTotals {
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
        sql<number>`count(*)`.as('total'),
        sql<number>`coalesce(sum(CASE WHEN status = 'disabled' THEN 1 ELSE 0 END), 0)`.as('disabled'),
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
      .select(['id', 'email', 'month_spent'])
      .where('month', '=', monthOf(now))
      .where('month_spent', '>', 0)
      .where('role', '!=', 'system')
      .orderBy('month_spent', 'desc')
      .limit(limit),
  );
}
