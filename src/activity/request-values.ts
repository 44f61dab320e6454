import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

interface UsedNames {
  readonly endpoints: readonly string[];
  readonly models: readonly string[];
}

/** More than anybody chooses from; beyond it a name can still be typed into the address. */
const MAX_VALUES = 10_000;

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
      .limit(MAX_VALUES),
  );
  return rows.map(({ value }) => value);
}
