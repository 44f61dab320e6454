import { useEffect, useState } from 'react';
import { useSearchState, type ChangeSearch, type SearchState } from './search.ts';

const SETTLE_MS = 250;
/** Shortest and longest search that the server accepts. */
const LEAST_SEARCHED = 2;
export const MOST_SEARCHED = 100;

interface TableOptions {
  /** The filters besides the search. */
  readonly fields?: readonly string[];
  readonly sorts: { readonly offered: readonly string[]; readonly usual: Sort };
  /** Distinguishes the second table of a page in the address. */
  readonly prefix?: string;
}

/** What a list needs to know about the filters above it. */
export interface ListState {
  readonly sorting: Sorting;
  readonly isFiltered: boolean;
  readonly clear: () => void;
}

export interface TableState extends ListState {
  readonly values: Readonly<Record<string, string | undefined>>;
  /** The query for the server: it follows once typing stops, without values that would be refused. */
  readonly query: Record<string, string | undefined>;
  readonly set: ChangeSearch;
}

export const NEWEST_FIRST = { by: 'time', descending: true } as const;

/** The search, the filters and the order of a table: all are in the address, so a reload or a link shows the same. */
export function useTable({ fields = [], sorts, prefix = '' }: TableOptions): TableState {
  const [state, change] = useSearchState();
  const names = ['search', ...fields];
  const values = Object.fromEntries([...names, 'sort'].map((name) => [name, state[prefix + name]]));
  const set: ChangeSearch = (next, options) =>
    change(Object.fromEntries(Object.entries(next).map(([name, value]) => [prefix + name, value])), options);
  const sorting = sortingOf(defined(values), set, sorts);
  const search = useSettled(values['search'] ?? '', SETTLE_MS)
    .trim()
    .slice(0, MOST_SEARCHED);
  const query = {
    ...Object.fromEntries(fields.map((name) => [name, values[name]])),
    search: search.length < LEAST_SEARCHED ? undefined : search,
    sort: sortText(sorting.current, sorts.usual),
  };
  return {
    values,
    query,
    sorting,
    isFiltered: names.some((name) => values[name]),
    set,
    clear: () => set(Object.fromEntries(names.map((name) => [name, undefined]))),
  };
}

function defined(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

/** A value once it has stopped changing: one query per word typed, not per letter. */
export function useSettled(value: string, afterMs: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return settled;
}

/** How a table is sorted; in the address as `sort=cost`, or `sort=-cost` for descending. */
export interface Sort {
  readonly by: string;
  readonly descending: boolean;
}

export interface Sorting {
  readonly current: Sort;
  readonly change: (next: Sort) => void;
}

export function readSort(text: string | undefined, offered: readonly string[], usual: Sort): Sort {
  if (text === undefined) return usual;
  const descending = text.startsWith('-');
  const by = descending ? text.slice(1) : text;
  return offered.includes(by) ? { by, descending } : usual;
}

/** Undefined for the usual order, which is left out of the address. */
export function sortText(sort: Sort, usual: Sort): string | undefined {
  if (sort.by === usual.by && sort.descending === usual.descending) return undefined;
  return `${sort.descending ? '-' : ''}${sort.by}`;
}

export function sortingOf(
  state: SearchState,
  change: (next: Record<string, string | undefined>) => void,
  { offered, usual }: { readonly offered: readonly string[]; readonly usual: Sort },
): Sorting {
  return {
    current: readSort(state['sort'], offered, usual),
    change: (next) => change({ sort: sortText(next, usual) }),
  };
}

export function sortRows<Row>(
  rows: readonly Row[],
  { descending }: Sort,
  value: (row: Row) => number | string,
): Row[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((a, b) => sign * compare(value(a), value(b)));
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === 'string' && typeof b === 'string') return a.localeCompare(b);
  return Number(a) - Number(b);
}
