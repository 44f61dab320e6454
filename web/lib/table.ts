import { useSearchState, type ChangeSearch } from './search.ts';
import { useSettled } from './settled.ts';
import { sortingOf, sortText, type Sort, type Sorting } from './sort.ts';

const SETTLE_MS = 250;
/** What the server searches for. */
const LEAST = 2;
export const MOST_SEARCHED = 100;

interface TableOptions {
  /** What is filtered by besides the search. */
  readonly fields?: readonly string[];
  readonly sorts: { readonly offered: readonly string[]; readonly usual: Sort };
  /** Tells the second table of a page from the first, in the address. */
  readonly prefix?: string;
}

/** What a list under the filters has to know of them. */
export interface ListState {
  readonly sorting: Sorting;
  readonly isFiltered: boolean;
  readonly clear: () => void;
}

export interface TableState extends ListState {
  /** What the address says, by field. */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** What to ask the server for: once somebody has stopped typing, and without what it would refuse. */
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
    search: search.length < LEAST ? undefined : search,
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
