import { useCallback, useMemo, useRef } from 'react';
import { useLocation, useSearch } from 'wouter';

export type SearchState = Readonly<Record<string, string>>;

export type ChangeSearch = (
  next: Record<string, string | undefined>,
  /** Typing replaces the same history entry with each letter, so that one step back undoes the whole word. */
  options?: { readonly isTyping: boolean },
) => void;

/**
 * Filters are in the URL: they survive a reload, can be shared, and the back button undoes them. Empty values are left
 * out. Both results stay the same objects until the address changes.
 */
export function useSearchState(): [state: SearchState, change: ChangeSearch] {
  // Only subscribes to changes: the router's copy is partly decoded, so the address is read from the browser.
  useSearch();
  const [path, navigate] = useLocation();
  const { search } = location;
  const state = useMemo(() => Object.fromEntries(new URLSearchParams(search)), [search]);
  const typing = useRef<string>(undefined);
  const change = useCallback<ChangeSearch>(
    (next, { isTyping } = { isTyping: false }) => {
      const current = new URLSearchParams(location.search);
      const merged = Object.entries({ ...Object.fromEntries(current), ...next }).filter(
        (pair): pair is [string, string] => Boolean(pair[1]),
      );
      const text = new URLSearchParams(merged).toString();
      if (text === current.toString()) return;
      const field = isTyping ? Object.keys(next).join() : undefined;
      navigate(text ? `${path}?${text}` : path, { replace: field !== undefined && field === typing.current });
      typing.current = field;
    },
    [path, navigate],
  );
  return [state, change];
}

/** The value if it is listed, otherwise the first of the list. */
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
