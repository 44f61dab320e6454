import { useSyncExternalStore } from 'react';

/** The token just created, for the snippets: in memory only, gone with the page. */
export const freshToken = makeFreshToken();

export function useFreshToken(): string | undefined {
  return useSyncExternalStore(freshToken.subscribe, freshToken.get);
}

function makeFreshToken() {
  let token: string | undefined;
  const listeners = new Set<() => void>();
  const change = (next: string | undefined): void => {
    token = next;
    for (const listener of listeners) listener();
  };
  return {
    get: () => token,
    set: (next: string) => change(next),
    clear: () => change(undefined),
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
