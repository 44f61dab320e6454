import { useQueryClient } from '@tanstack/react-query';
import { Suspense, useEffect, useEffectEvent, useState } from 'react';
import type { SignedInUser } from '../lib/answers.ts';
import { later } from '../lib/chunk.ts';
import { refreshSession } from '../lib/query.ts';
import { useSession } from '../lib/session.ts';
import { onSessionEnded } from '../lib/signInAgain.ts';

const SignInDialog = later(() => import('./SignInDialog.tsx'));

interface Asked {
  readonly user: SignedInUser;
  readonly done: () => void;
}

/** Lets a user whose session has ended sign in over the page that needs it; the page stays as it is. */
export function SignInAgain() {
  const client = useQueryClient();
  const user = useSession().data?.user;
  const [asked, setAsked] = useState<Asked>();
  const ask = useEffectEvent(async (): Promise<boolean> => {
    if (!user) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    setAsked({ user, done: resolve });
    await promise;
    setAsked(undefined);
    // What it says of the user may have changed; whoever waits for the session reads it again anyway.
    void refreshSession(client);
    return true;
  });
  useEffect(() => {
    onSessionEnded(async () => await ask());
    return () => onSessionEnded(undefined);
  }, []);
  return asked ? (
    <Suspense fallback={null}>
      <SignInDialog {...asked} />
    </Suspense>
  ) : null;
}
