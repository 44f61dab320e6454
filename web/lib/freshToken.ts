import { useSyncExternalStore } from 'react';
import { useAction } from './action.ts';
import { call } from './api.ts';
import { onChangedElsewhere } from './query.ts';

/** The token that was just created, for the code examples: in memory only, gone with the page. */
export const freshToken = makeFreshToken();

// One that another tab has replaced must not stay in the examples.
onChangedElsewhere((routes) => {
  if (routes.includes('GET /api/console/token')) freshToken.clear();
});

export function useFreshToken(): string | undefined {
  return useSyncExternalStore(freshToken.subscribe, freshToken.get);
}

/** Creates or replaces the token. The secret goes into memory for the code examples, and to `onShown`. */
export function useCreateToken(onShown: (token: string) => void) {
  return useAction(async () => await call('POST /api/console/token', { body: {} }), {
    refresh: ['GET /api/console/token', 'GET /api/console/overview', 'GET /api/console/quickstart'],
    onDone: ({ token }) => {
      freshToken.set(token);
      onShown(token);
    },
  });
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
