import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { SessionState, SignedInUser } from './answers.ts';
import { call, type ApiError } from './api.ts';
import { leaveAll } from './query.ts';
import { isSignedInAgain } from './signInAgain.ts';
import { CHATS_KEY, MODELS_KEY, WALLET_KEY, writeStored } from './storage.ts';

const ROUTE = 'GET /api/console/session';
const FRESH_MS = 60_000;

export function useSession(): UseQueryResult<SessionState, ApiError> {
  return useQuery<SessionState, ApiError>({
    queryKey: [ROUTE, null],
    queryFn: async ({ signal }) => await readSession(signal),
    staleTime: FRESH_MS,
  });
}

let wasSignedIn = false;

/** A session that ends while its pages are open is renewed over them: they must not leave with what was typed in them. */
async function readSession(signal: AbortSignal): Promise<SessionState> {
  const session = await call(ROUTE, { signal });
  if (!session.user && wasSignedIn && (await isSignedInAgain())) return await readSession(signal);
  wasSignedIn = session.user !== null;
  return session;
}

/** The signed-in user; for pages that only signed-in users see. */
export function useUser(): SignedInUser {
  const user = useSession().data?.user;
  if (!user) throw new Error('a page for signed-in people was shown without a session');
  return user;
}

export function useSite(): SessionState['site'] | undefined {
  return useSession().data?.site;
}

/** Signs out and clears everything that was shown. */
export async function signOut(): Promise<void> {
  await call('POST /api/auth/sign-out');
  writeStored(CHATS_KEY, undefined);
  writeStored(WALLET_KEY, undefined);
  writeStored(MODELS_KEY, undefined);
  leaveAll();
}

/** Another user signed in on this tab: what the previous one left in memory must go. */
export function useFreshStart(): void {
  const accountId = useSession().data?.user?.accountId;
  const before = useRef(accountId);
  useEffect(() => {
    if (accountId === undefined) return;
    if (before.current !== undefined && before.current !== accountId) location.reload();
    before.current = accountId;
  }, [accountId]);
}

/** The title in the tab and for screen readers: the page first, then the site. */
export function useTitle(title: string | undefined): void {
  const site = useSite()?.name ?? 'Tollgate';
  useEffect(() => {
    document.title = title ? `${title} · ${site}` : site;
  }, [title, site]);
}
