import type { SearchState } from './search.ts';

/** How a table is sorted; in the address as `sort=cost` or `sort=-cost`, the latter from the largest down. */
export interface Sort {
  readonly by: string;
  readonly descending: boolean;
}

/** What a table needs to know to offer it. */
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

/** Undefined for the usual order, which the address need not name. */
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
