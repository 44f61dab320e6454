import { QueryClient } from '@tanstack/react-query';
import type { ReadRoute } from './api.ts';
import { onSessionEnded } from './signInAgain.ts';

/** Tabs of one browser show one account: what is changed in one is read again in all. */
const tabs = 'document' in globalThis ? new BroadcastChannel('tollgate') : undefined;

/** An error from the server is final and is shown. What to do without a connection or a session is decided by `send`. */
export function makeQueryClient(): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: { staleTime: 5_000, refetchOnWindowFocus: false, retry: false, networkMode: 'always' },
      mutations: { networkMode: 'always' },
    },
  });
  tabs?.addEventListener('message', ({ data }: MessageEvent<readonly ReadRoute[]>) => {
    void refreshReads(client, data);
    for (const listener of listeners) listener(data);
  });
  return client;
}

const listeners = new Set<(routes: readonly ReadRoute[]) => void>();

/** Tells what an action in another tab has changed. */
export function onChangedElsewhere(listener: (routes: readonly ReadRoute[]) => void): void {
  listeners.add(listener);
}

export function tellOtherTabs(routes: readonly ReadRoute[]): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is that of one origin
  if (routes.length > 0) tabs?.postMessage(routes);
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
