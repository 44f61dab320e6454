import { useRef } from 'react';
import { useLocation, useSearch } from 'wouter';

export type SearchState = Readonly<Record<string, string>>;

export type ChangeSearch = (
  next: Record<string, string | undefined>,
  /** While somebody types, each letter takes the place of the one before it: one step back leaves the word. */
  options?: { readonly isTyping: boolean },
) => void;

/** Filters are in the URL: they survive a reload, can be shared, and the back button undoes them. Empty values are left out. */
export function useSearchState(): [state: SearchState, change: ChangeSearch] {
  // The router's own copy is only partly decoded; the browser's is exact. The hook only subscribes to changes.
  useSearch();
  const [path, navigate] = useLocation();
  const state = Object.fromEntries(new URLSearchParams(location.search));
  const typing = useRef<string>(undefined);
  const change: ChangeSearch = (next, { isTyping } = { isTyping: false }) => {
    const merged = Object.entries({ ...state, ...next }).filter((pair): pair is [string, string] =>
      Boolean(pair[1]),
    );
    const text = new URLSearchParams(merged).toString();
    if (text === new URLSearchParams(location.search).toString()) return;
    const field = isTyping ? Object.keys(next).join() : undefined;
    navigate(text ? `${path}?${text}` : path, { replace: field !== undefined && field === typing.current });
    typing.current = field;
  };
  return [state, change];
}

/** One of the listed values, or the first of them. */
export function oneOf<Value extends string>(
  wanted: string | undefined,
  values: readonly [Value, ...Value[]],
): Value {
  return values.find((value) => value === wanted) ?? values[0];
}

export function hrefWith(path: string, query: Record<string, string | undefined>): string {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return pairs.length > 0 ? `${path}?${new URLSearchParams(pairs)}` : path;
}

/** Parts of the path after a prefix, decoded once; one that cannot be decoded is taken as it is. */
export function pathParts(prefix: string): string[] {
  return location.pathname.slice(prefix.length).split('/').filter(Boolean).map(decoded);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
