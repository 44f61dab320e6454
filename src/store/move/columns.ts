import type { Database } from 'bun:sqlite';
import type { Client } from 'pg';

export type SqliteValue = string | number | Uint8Array | null;
export type SqliteRow = Record<string, SqliteValue>;

/** A table as both databases have it. */
export interface TableColumns {
  readonly names: readonly string[];
  /** The primary key, by which its rows are read in order. */
  readonly key: readonly string[];
  /** Numbered by the database: further rows must get further numbers. */
  readonly identity: string | undefined;
  /** The row as Postgres reads it from JSON; it is changed in place. */
  convert(row: SqliteRow): Record<string, unknown>;
}

export async function columnsOf(source: Database, target: Client, table: string): Promise<TableColumns> {
  const ours = source.query<SqliteColumn, [string]>(`SELECT name, pk FROM pragma_table_info(?)`).all(table);
  const { rows: theirs } = await target.query<PostgresColumn>(COLUMNS, [table]);
  const names = ours.map(({ name }) => name);
  const types = new Map(theirs.map(({ name, type }) => [name, type]));
  const onlyOnOne = [...names, ...types.keys()].filter((name) => !names.includes(name) || !types.has(name));
  if (onlyOnOne.length > 0)
    throw new Error(`the table ${table} has ${onlyOnOne.join(', ')} in one of the databases only`);
  const converted = names.flatMap((name) => {
    const type = types.get(name) ?? '';
    const convert = CONVERTERS[type];
    if (convert === undefined) throw new Error(`${table}.${name} has a type that is not moved: ${type}`);
    return convert === asItIs ? [] : [{ name, convert }];
  });
  return {
    names,
    key: ours
      .filter(({ pk }) => pk > 0)
      .toSorted((a, b) => a.pk - b.pk)
      .map(({ name }) => name),
    identity: theirs.find(({ is_identity }) => is_identity)?.name,
    convert(row) {
      const result: Record<string, unknown> = row;
      for (const { name, convert } of converted) {
        const value = row[name];
        if (value !== null && value !== undefined) result[name] = convert(value);
      }
      return result;
    },
  };
}

type Converter = (value: string | number | Uint8Array) => unknown;

const asItIs: Converter = (value) => value;

/** By the type of the column in Postgres; NULL is NULL in both. */
const CONVERTERS: Readonly<Record<string, Converter>> = {
  bigint: asItIs,
  integer: asItIs,
  smallint: asItIs,
  // Postgres has no text with this character; the ledger there writes the same in its place.
  text: (value) =>
    typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value,
  boolean: (value) => value !== 0,
  'timestamp with time zone': (value) => new Date(String(value)).toISOString(),
  bytea: (value) => `\\x${bytesOf(value).toString('hex')}`,
};

/** SQLite keeps what it was given, also a text in a column of bytes. */
function bytesOf(value: string | number | Uint8Array): Buffer {
  return typeof value === 'object' ? Buffer.from(value) : Buffer.from(String(value));
}

interface SqliteColumn {
  readonly name: string;
  /** Its place in the primary key, from one. */
  readonly pk: number;
}

interface PostgresColumn {
  readonly name: string;
  readonly type: string;
  readonly is_identity: boolean;
}

const COLUMNS = `SELECT column_name AS name, data_type AS type, is_identity = 'YES' AS is_identity
  FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1`;
