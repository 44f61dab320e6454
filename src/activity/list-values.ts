import { sql, type Kysely } from 'kysely';
import type { EntryKind, Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { spendersOf } from './accounts.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

/** More than anybody chooses from; beyond it a value can still be typed into the address. */
const MAX_VALUES = 500;

/** The kinds of lines that the statement of a person or a team has, or all statements. */
export async function entryKinds({ db, reader }: Parts, accountId: string | undefined): Promise<EntryKind[]> {
  let entries = db.selectFrom('entry').select('kind').distinct();
  let receipts = db.selectFrom('receipt').select('id').limit(1);
  if (accountId !== undefined) {
    entries = entries.where('account_id', '=', accountId);
    receipts = receipts.where('account_id', 'in', await spendersOf(db, accountId));
  }
  const [kinds, charges] = await Promise.all([reader.all(entries), reader.all(receipts)]);
  const found = kinds.map(({ kind }) => kind);
  return [...new Set([...found, ...(charges.length > 0 ? (['charge'] as const) : [])])].toSorted();
}

/** The states of an account's payments, or of all. */
export async function paymentStates({ db, reader }: Parts, accountId: string | undefined) {
  let query = db.selectFrom('payment').select('state').distinct().where('kind', '<>', 'card');
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  return (await reader.all(query)).map(({ state }) => state).toSorted();
}

/** What occurs in a column of a list for operators. */
export async function occurring(
  { db, reader }: Parts,
  table: 'audit' | 'outbox' | 'payment_problem',
  column: string,
): Promise<string[]> {
  const name = sql.ref<string>(`t.${column}`);
  const rows = await reader.all(
    db
      .selectFrom(sql`${sql.table(table)}`.as('t'))
      .select(name.as('value'))
      .distinct()
      .limit(MAX_VALUES),
  );
  return rows.map(({ value }) => value).toSorted();
}

interface UsedNames {
  readonly endpoints: readonly string[];
  readonly models: readonly string[];
}

/** More than anybody chooses from; beyond it a name can still be typed into the address. */
const MAX_NAMES = 10_000;

/** What an account has used at any time, also what the catalog has no more. Each value costs one step in an index. */
export async function requestValues(parts: Parts, accountId: string): Promise<UsedNames> {
  const [endpoints, models] = await Promise.all([
    distinct(parts, accountId, 'endpoint'),
    distinct(parts, accountId, 'model'),
  ]);
  return { endpoints, models };
}

async function distinct(
  { db, reader }: Parts,
  accountId: string,
  column: 'endpoint' | 'model',
): Promise<string[]> {
  const name = sql.ref(`u.${column}`);
  const own = sql`SELECT ${name} FROM usage_day u WHERE u.account_id = ${accountId}`;
  const first = sql`(${own} ORDER BY ${name} LIMIT 1)`;
  const next = sql`(${own} AND ${name} > used.value ORDER BY ${name} LIMIT 1)`;
  const rows = await reader.all(
    db
      .withRecursive(
        'used(value)',
        () =>
          sql<{
            value: string | null;
          }>`(SELECT ${first} UNION ALL SELECT ${next} FROM used WHERE used.value IS NOT NULL)`,
      )
      .selectFrom('used')
      .select('value')
      .where('value', 'is not', null)
      .$narrowType<{ value: string }>()
      .limit(MAX_NAMES),
  );
  return rows.map(({ value }) => value);
}
