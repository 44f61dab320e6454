import { useSyncExternalStore } from 'react';

/** True on screens too narrow for tables and columns; matches the `sm` breakpoint of the stylesheet. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}

const narrow = matchMedia('(max-width: 39.99rem)');

function subscribe(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}
