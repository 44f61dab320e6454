import { useEffect, useRef } from 'react';
import type { SessionState, SignedInUser } from './answers.ts';
import { call, useApi } from './api.ts';
import { leaveAll } from './query.ts';
import { CHATS_KEY, writeStored } from './storage.ts';

const FRESH_MS = 60_000;

export function useSession() {
  return useApi('GET /api/console/session', undefined, { staleTime: FRESH_MS });
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
