import { QueryClient } from '@tanstack/react-query';
import type { ReadRoute } from './api.ts';
import { onSessionEnded } from './signInAgain.ts';

/** An error from the server is final and is shown. What to do without a connection or a session is decided by `send`. */
export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { staleTime: 5_000, refetchOnWindowFocus: false, retry: false, networkMode: 'always' },
      mutations: { networkMode: 'always' },
    },
  });
}

export async function refreshSession(client: QueryClient): Promise<void> {
  await refreshReads(client, ['GET /api/console/session']);
}

/** Refetches every query of these routes that is on screen, whatever its parameters. */
export async function refreshReads(client: QueryClient, routes: readonly ReadRoute[]): Promise<void> {
  await Promise.all(routes.map((route) => client.invalidateQueries({ queryKey: [route] })));
}

/** Nothing of one account may be visible to the next: reloading the page clears the memory. */
export function leaveAll(): void {
  onSessionEnded(undefined);
  location.assign('/sign-in');
}
