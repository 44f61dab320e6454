import { QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError, type ReadRoute } from './api.ts';

/** Retries a read once if the network failed; an error from the server is final and is shown. */
export function makeQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        // The session ended elsewhere: refetching it shows the sign-in page with the path to return to.
        if (error instanceof ApiError && error.code === 'unauthenticated') void refreshSession(client);
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchOnWindowFocus: false,
        retry: (failures, error) => failures < 1 && error instanceof ApiError && error.code === 'network',
      },
    },
  });
  return client;
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
  location.assign('/sign-in');
}
