export type TableValue = string | number;

/** Where a page ended. */
export interface TableCursor {
  /** Of the last row, in the columns of the order. */
  readonly values: readonly TableValue[];
  /** The newest row that was not sorted any more when the list began. */
  readonly since: { readonly at: number; readonly values: readonly TableValue[] } | undefined;
}

type ValueType = 'number' | 'text';

interface CursorTypes {
  readonly values: readonly ValueType[];
  readonly since: readonly ValueType[];
}

export function writeTableCursor({ values, since }: TableCursor): string {
  const text = JSON.stringify(since ? [values, [since.at, ...since.values]] : [values]);
  return Buffer.from(text).toString('base64url');
}

/** `undefined`: not a cursor of this list. Its values are bound to a query, so they must have the types of its columns. */
export function readTableCursor(text: string, types: CursorTypes): TableCursor | undefined {
  const [values, sinceValues] = listsOf(text);
  if (!values || !areOf(values, types.values)) return undefined;
  if (sinceValues === undefined) return { values, since: undefined };
  const [at, ...rest] = sinceValues;
  if (typeof at !== 'number' || !areOf([at, ...rest], ['number', ...types.since])) return undefined;
  return { values, since: { at, values: rest } };
}

function listsOf(text: string): (readonly TableValue[] | undefined)[] {
  try {
    const lists = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown;
    return Array.isArray(lists) && lists.length <= 2 && lists.every(isList) ? lists : [];
  } catch {
    // Not JSON: whoever asks is told that it is no cursor.
    return [];
  }
}

function isList(list: unknown): list is TableValue[] {
  return (
    Array.isArray(list) &&
    list.every((value) => Number.isSafeInteger(value) || (typeof value === 'string' && isStorable(value)))
  );
}

/** Postgres takes no NUL in a text. */
function isStorable(text: string): boolean {
  return !text.includes('\0');
}

function areOf(values: readonly TableValue[], types: readonly ValueType[]): boolean {
  return (
    values.length === types.length &&
    types.every((type, index) => typeof values[index] === (type === 'text' ? 'string' : 'number'))
  );
}
