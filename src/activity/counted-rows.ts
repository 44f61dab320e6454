import { CompiledQuery } from 'kysely';
import type { Store } from '../store/store.ts';
import type { CountQuery } from './counted-usage.ts';

/** Rows that are counted beside requests, and written where they have grown. */

const ROWS_TOGETHER = 500;

export function countQuery({ backend }: Store): CountQuery {
  if (backend.kind === 'sqlite') return (text, values) => backend.background.query(text, values);
  return async <Row>(text: string, values: readonly (string | number)[]) => {
    const { rows } = await backend.pool.query(numbered(text), [...values]);
    // The caller names the row's type, which its SQL must keep.
    return rows as Row[];
  };
}

/** With the values as Postgres numbers them. */
export function numbered(text: string): string {
  let place = 0;
  return text.replaceAll('?', () => `$${++place}`);
}

export interface CountedTable<Row> {
  readonly name: string;
  /** All columns, those of the key first. */
  readonly columns: readonly (keyof Row & string)[];
  readonly keys: number;
  readonly rows: readonly Row[];
}

/** Writes the rows that count more than `written` says, and remembers them there. */
export async function writeGrown<Row extends { readonly requests: number }>(
  { db, backend }: Store,
  { name, columns, keys, rows }: CountedTable<Row>,
  written: Map<string, number>,
): Promise<void> {
  const idOf = (row: Row): string =>
    JSON.stringify([name, ...columns.slice(0, keys).map((column) => row[column])]);
  const grown = rows.filter((row) => row.requests > (written.get(idOf(row)) ?? 0));
  for (let at = 0; at < grown.length; at += ROWS_TOGETHER) {
    const some = grown.slice(at, at + ROWS_TOGETHER);
    const text = upsertSql(name, columns, { keys, rows: some.length });
    const values = some.flatMap((row) => columns.map((column) => row[column]));
    // As text: building so many values one by one would take longer than writing them.
    await db.executeQuery(CompiledQuery.raw(backend.kind === 'sqlite' ? text : numbered(text), values));
    for (const row of some) written.set(idOf(row), row.requests);
  }
}

function upsertSql(
  table: string,
  columns: readonly string[],
  { keys, rows }: { readonly keys: number; readonly rows: number },
): string {
  const row = `(${columns.map(() => '?').join(', ')})`;
  const changes = columns.slice(keys).map((column) => `${column} = excluded.${column}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array.from({ length: rows }, () => row).join(', ')}
    ON CONFLICT (${columns.slice(0, keys).join(', ')}) DO UPDATE SET ${changes.join(', ')}
    WHERE excluded.requests > ${table}.requests OR ${table}.saved IS NULL`;
}
