import type { Database } from 'bun:sqlite';
import { MOVED } from '../move/tables.ts';

type Value = string | number | Uint8Array;

/** What CHECK and foreign keys ask for; every other column has a value by its type. */
const VALUES: Readonly<Record<string, (row: number) => Readonly<Record<string, Value>>>> = {
  account: () => ({ role: 'user', status: 'active' }),
  answer: () => ({ state: 'done' }),
  auth_account: (row) => ({ userId: `auth_user ${row}` }),
  auth_passkey: (row) => ({ userId: `auth_user ${row}` }),
  auth_session: (row) => ({ userId: `auth_user ${row}` }),
  auth_two_factor: (row) => ({ userId: `auth_user ${row}` }),
  catalog_plan: (row) => ({ state: row === 1 ? 'waiting' : 'published' }),
  cost_entry: () => ({ possible_cost: -5 }),
  entry: (row) => ({ account_id: `account ${row}`, kind: 'credit' }),
  image_job: () => ({ state: 'done' }),
  image_object: () => ({ place: 's3', is_used: 1 }),
  operator: () => ({ role: 'support' }),
  operator_token: () => ({ role: 'read' }),
  payment: () => ({ kind: 'top_up', state: 'paid' }),
  payment_reversal: () => ({ kind: 'refund' }),
  preference: (row) => ({ account_id: `account ${row}`, theme: 'dark' }),
  redeem_code: (row) => ({ redeemed_by: `account ${row}` }),
  reset_link: (row) => ({ account_id: `account ${row}` }),
  stored_response: () => ({ state: 'completed' }),
  statement: () => ({ opening: 7, moved: 5, charged: 3, closing: 9 }),
};

/** Quotes, escapes, line ends, other planes. */
const ODD_TEXT = `"quotes" \\ back\\u0041slash 'single' \t\r\n ü 漢 😀 {"json":[1]}`;
/** The largest that a number of ours can be. */
const LARGE = Number.MAX_SAFE_INTEGER;
const LARGE_32 = 2 ** 31 - 1;
const LARGE_16 = 2 ** 15 - 1;

interface Column {
  readonly name: string;
  readonly notnull: number;
  readonly pk: number;
}

/** Two rows in each table that is moved: one with a value in every column, one with as few as it can have. */
export function fillEveryTable(source: Database, postgresTypes: ReadonlyMap<string, string>): void {
  for (const { name: table } of MOVED) {
    const columns = source.query<Column, [string]>('SELECT * FROM pragma_table_info(?)').all(table);
    for (const row of [1, 2]) {
      const given = columns.filter((column) => row === 1 || column.pk > 0 || column.notnull === 1);
      const values = given.map((column) =>
        valueOf(table, column, row, postgresTypes.get(`${table}.${column.name}`) ?? ''),
      );
      const names = given.map(({ name }) => `"${name}"`).join(', ');
      const places = given.map(() => '?').join(', ');
      source.query(`INSERT INTO "${table}" (${names}) VALUES (${places})`).run(...values);
    }
  }
}

function valueOf(table: string, { name, pk }: Column, row: number, postgresType: string): Value {
  const asked = VALUES[table]?.(row)[name];
  if (asked !== undefined) return asked;
  switch (postgresType) {
    case 'text':
      return pk > 0 ? `${table} ${row}` : `${table} ${row} ${ODD_TEXT}`;
    case 'bytea':
      return row === 1 ? Uint8Array.from({ length: 256 }, (_, byte) => byte) : new Uint8Array(0);
    case 'boolean':
      return row === 1 ? 1 : 0;
    case 'timestamp with time zone':
      return new Date(Date.UTC(2030, 1, 28, 23, 59, 59, 990 + row)).toISOString();
    case 'integer':
      return LARGE_32 - row;
    case 'smallint':
      return LARGE_16 - row;
    default:
      return pk > 0 ? row : LARGE - row;
  }
}
