import { asFault, type Fault } from '../../std/fault.ts';
import { unavailable } from './batch-queue.ts';
import { CallFailed } from './pool.ts';

/**
 * Makes one call for a batch. One item whose values the database refuses undoes the whole call; then the batch is
 * halved until that item fails alone. Every other failure is the database's, and fails all items.
 */
export async function callTogether<Item, Answer>(
  items: readonly Item[],
  call: (items: readonly Item[]) => Promise<readonly (Answer | Fault)[]>,
): Promise<readonly (Answer | Fault)[]> {
  try {
    return await call(items);
  } catch (error) {
    if (!(error instanceof CallFailed)) return items.map(() => asFault(error));
    if (!error.isMistake) return items.map(() => unavailable(error.message, error));
    if (items.length === 1) return [asFault(error)];
    const middle = Math.ceil(items.length / 2);
    const first = await callTogether(items.slice(0, middle), call);
    return [...first, ...(await callTogether(items.slice(middle), call))];
  }
}

/** How each item of a call becomes parameters, in their order. */
export class Columns<Item> {
  readonly #columns: readonly Column<Item>[];

  constructor(...columns: readonly Column<Item>[]) {
    this.#columns = columns;
  }

  /** For a call with arrays. */
  arrays(items: readonly Item[]): string[] {
    return this.#columns.map(({ isText, of }) => {
      const values = items.map(of);
      // What a column of texts says is a text.
      return isText ? textArray(values as (string | null)[]) : plainArray(values as (number | null)[]);
    });
  }

  /** For a call with plain parameters. */
  plain(item: Item): unknown[] {
    return this.#columns.map(({ isText, of }) => {
      const value = of(item) ?? null;
      return isText && typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value;
    });
  }
}

interface Column<Item> {
  readonly isText: boolean;
  readonly of: (item: Item) => string | number | boolean | null | undefined;
}

export function plain<Item>(of: (item: Item) => number | boolean | null | undefined): Column<Item> {
  return { isText: false, of };
}

export function texts<Item>(of: (item: Item) => string | null | undefined): Column<Item> {
  return { isText: true, of };
}

/** The parameters of a function that works on arrays, as one has them that works on a single item. */
export function asPlain(parameters: string): string {
  return parameters.replaceAll('[]', '');
}

/** Such plain parameters as the arguments of the function that works on arrays. */
export function inArrays(parameters: string): string {
  return parameters.replaceAll(/(\w+) \w+(\[\])?/g, (_, name: string, array?: string) =>
    array === undefined ? name : `ARRAY[${name}]`,
  );
}

/** An array of numbers or truth values as the database reads it. */
export function plainArray(values: readonly (number | boolean | null | undefined)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

/** The numbers in an array as the database writes it. */
export function numbersIn(array: string | null): number[] {
  return array === null || array === '{}' ? [] : array.slice(1, -1).split(',').map(Number);
}

/** The texts in an array as the database writes it. */
export function textsIn(array: string | null): string[] {
  const items = array?.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];
  return items.map((item) => (item.startsWith('"') ? item.slice(1, -1).replace(/\\(.)/g, '$1') : item));
}

/** An array of texts as the database reads it. A NUL character, which it cannot store, becomes U+FFFD. */
export function textArray(values: readonly (string | null | undefined)[]): string {
  return `{${values.map(quoted).join(',')}}`;
}

function quoted(text: string | null | undefined): string {
  if (text === null || text === undefined) return 'NULL';
  if (PLAIN.test(text)) return `"${text}"`;
  return `"${text.replaceAll('\0', '\uFFFD').replace(/["\\]/g, '\\$&')}"`;
}

// oxlint-disable-next-line no-control-regex -- the NUL character is what it looks for
const PLAIN = /^[^"\\\0]*$/;
