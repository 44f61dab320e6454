import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { Client } from 'pg';
import type { ImageObjects } from '../image-objects.ts';
import { committed } from '../schema-lock.ts';
import { MARK_KEY, type TablePart, type TargetMark } from './mark.ts';
import { MOVED } from './tables.ts';

/** Both databases while rows are copied: nobody else writes to either. */
export interface CopySides {
  readonly source: Database;
  readonly target: Client;
  /** The images that are files of the data folder. */
  readonly files: ImageObjects;
}

export interface CopyProgress {
  readonly table: string;
  /** The rows copied so far, including those of earlier runs. */
  readonly rows: number;
  readonly of: number;
}

export interface Copied {
  readonly rows: number;
  /** Images whose file is not in the data folder any more. Their links answer 404, as they did before. */
  readonly missingFiles: number;
}

/** The copy was stopped; the next run continues after what was copied. */
export class MoveStopped extends Error {}

/** So many rows, or so many characters of JSON, are inserted together: memory does not grow with the tables. */
const MOST_ROWS = 5_000;
const MOST_CHARACTERS = 8_388_608;

/**
 * Copies whatever `mark` does not say is there already. Each batch notes how far it came in its own transaction, so that
 * a move that was interrupted goes on from there.
 */
export async function copyTables(
  sides: CopySides,
  mark: TargetMark,
  report: (progress: CopyProgress) => void,
): Promise<Copied> {
  const done = [...mark.done];
  let rows = 0;
  let missingFiles = 0;
  for (const { name, only = 'TRUE' } of MOVED) {
    if (done.includes(name)) continue;
    const part = mark.part?.table === name ? mark.part : undefined;
    const reached = { ...mark, done: [...done], part };
    const copied = await copyTable(sides, { name, only, mark: reached, report }).catch((error: unknown) => {
      throw new MoveStopped(
        `at the table ${name}: ${error instanceof Error ? error.message : String(error)}`,
        {
          cause: error,
        },
      );
    });
    rows += copied.rows;
    missingFiles += copied.missingFiles;
    done.push(name);
  }
  return { rows, missingFiles };
}

interface TableToCopy {
  readonly name: string;
  readonly only: string;
  readonly mark: TargetMark;
  readonly report: (progress: CopyProgress) => void;
}

async function copyTable(
  { source, target, files }: CopySides,
  { name, only, mark, report }: TableToCopy,
): Promise<Copied> {
  const columns = await columnsOf(source, target, name);
  const insert = batchInserter(target, name, columns);
  const of = countOf(source, name, only);
  const { condition, values } = after(columns, mark.part);
  let left = countOf(source, name, `(${only}) AND ${condition}`, values);
  let missingFiles = 0;
  let copied = 0;
  let batch = new Batch();
  const statement = source.prepare<SqliteRow, SQLQueryBindings[]>(
    `SELECT ${quoted(columns.names)} FROM "${name}" WHERE (${only}) AND ${condition} ORDER BY ${quoted(columns.key)}`,
  );
  try {
    for (const row of statement.iterate(...values)) {
      const upTo = columns.key.map((column) => keyValue(row[column]));
      const whole = name === 'image' ? await withBytesOfFile(row, source, files) : row;
      if (whole === undefined) missingFiles++;
      batch.add(columns.convert(whole ?? row));
      if (!batch.isFull) continue;
      await insert(batch, { ...mark, part: { table: name, upTo } });
      copied += batch.rows;
      left -= batch.rows;
      batch = new Batch();
      if (left > 0) report({ table: name, rows: of - left, of });
    }
  } finally {
    statement.finalize();
  }
  await insert(batch, { ...mark, done: [...mark.done, name], part: undefined });
  report({ table: name, rows: of, of });
  return { rows: copied + batch.rows, missingFiles };
}

class Batch {
  readonly #texts: string[] = [];
  #characters = 0;

  add(row: Readonly<Record<string, unknown>>): void {
    const text = JSON.stringify(row);
    this.#texts.push(text);
    this.#characters += text.length;
  }

  get rows(): number {
    return this.#texts.length;
  }

  get isFull(): boolean {
    return this.rows >= MOST_ROWS || this.#characters >= MOST_CHARACTERS;
  }

  get json(): string {
    return `[${this.#texts.join(',')}]`;
  }
}

/** Inserts a batch together with the mark that says so; with the last one, further numbers go on after its own. */
function batchInserter(target: Client, name: string, { names, identity }: TableColumns) {
  const sql = `INSERT INTO "${name}" (${quoted(names)}) OVERRIDING SYSTEM VALUE
    SELECT ${quoted(names)} FROM json_populate_recordset(NULL::"${name}", $1::json)`;
  const goOn =
    identity === undefined
      ? undefined
      : `SELECT setval(pg_get_serial_sequence('"${name}"', '${identity}'), max("${identity}")) FROM "${name}"
          HAVING max("${identity}") IS NOT NULL`;
  return async (batch: Batch, mark: TargetMark): Promise<void> => {
    await inTransaction(target, async () => {
      // First: who reads the mark to go on waits for a batch that a killed process has left behind.
      await target.query(`UPDATE setting SET value = $1 WHERE key = '${MARK_KEY}'`, [JSON.stringify(mark)]);
      if (batch.rows > 0) await target.query(sql, [batch.json]);
      if (goOn !== undefined) await target.query(goOn);
    });
  };
}

export async function inTransaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN');
  return await committed(client, work);
}

/** The image with its bytes in the row, where they are a file; `undefined`: the file is gone. */
async function withBytesOfFile(
  row: SqliteRow,
  source: Database,
  files: ImageObjects,
): Promise<SqliteRow | undefined> {
  const { object, size } = row;
  if (typeof object !== 'string') return row;
  const place = source
    .query<{ place: string }, [string]>('SELECT place FROM image_object WHERE id = ?')
    .get(object);
  if (place?.place !== files.place) return row;
  const bytes = await files.read(object, 0, Number(size));
  return bytes && { ...row, bytes, object: null };
}

export function countOf(
  source: Database,
  table: string,
  condition: string,
  values: readonly SQLQueryBindings[] = [],
): number {
  const row = source
    .query<{ count: number }, SQLQueryBindings[]>(
      `SELECT count(*) AS count FROM "${table}" WHERE ${condition}`,
    )
    .get(...values);
  return row?.count ?? 0;
}

function after({ key }: TableColumns, part: TablePart | undefined) {
  if (part === undefined) return { condition: 'TRUE', values: [] };
  return { condition: `(${quoted(key)}) > (${key.map(() => '?').join(', ')})`, values: part.upTo };
}

function keyValue(value: SqliteValue | undefined): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  throw new Error('a primary key is neither a text nor a number');
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

type SqliteValue = string | number | Uint8Array | null;
type SqliteRow = Record<string, SqliteValue>;

/** A table as both databases have it. */
interface TableColumns {
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
  /** The place of the column in the primary key, from one. */
  readonly pk: number;
}

interface PostgresColumn {
  readonly name: string;
  readonly type: string;
  readonly is_identity: boolean;
}

const COLUMNS = `SELECT column_name AS name, data_type AS type, is_identity = 'YES' AS is_identity
  FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1`;
