import { useEffect, useEffectEvent, useState } from 'react';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser';
import { useAction } from '../../lib/action.ts';
import { call, ApiError } from '../../lib/api.ts';
import { askForPasskey, canOfferInField, PasskeyCancelled, type AskOptions } from '../../lib/passkey.ts';
import { useTranslation } from '../../lib/translation.tsx';

/** A challenge is valid for five minutes; a page that stays open longer requests another. */
const RENEW_MS = 4 * 60_000;

/**
 * Signing in with a passkey: by the button, or from the autofill of the email field, which waits in the background. A
 * browser handles one request at a time, so the button ends the waiting.
 */
export function usePasskey(onDone: () => void) {
  const { t } = useTranslation();
  const [turn] = useState(() => new Turn());
  const [refused, setRefused] = useState<Error>();
  const byButton = useAction(
    async () => {
      setRefused(undefined);
      try {
        await proveWith(await challenge(), { inField: false, signal: turn.next() });
      } catch (error) {
        throw error instanceof PasskeyCancelled ? new Error(t('auth.passkeyCancelled')) : error;
      }
    },
    { onDone },
  );
  const done = useEffectEvent(onDone);
  useEffect(() => {
    const page = new AbortController();
    const offer = async (): Promise<void> => {
      if (!(await canOfferInField()) || page.signal.aborted) return;
      const signal = turn.next();
      // The user has not asked for anything yet, so a failure is not shown.
      const options = await challenge().catch(() => undefined);
      if (!options || signal.aborted) return;
      await proveWith(options, { inField: true, signal });
      done();
    };
    const begin = (): void => {
      offer().catch((error: unknown) => {
        // Only a passkey that the user chose and the server refused is an error; having none to offer is not.
        if (error instanceof ApiError) setRefused(error);
      });
    };
    begin();
    const timer = setInterval(begin, RENEW_MS);
    return () => {
      clearInterval(timer);
      page.abort();
      turn.end();
    };
  }, [turn]);
  return {
    error: byButton.error ?? refused,
    busy: byButton.isPending,
    signIn: () => byButton.mutate(),
  };
}

/** One request at a time: the next aborts the previous one. */
class Turn {
  #now = new AbortController();

  next(): AbortSignal {
    this.end();
    this.#now = new AbortController();
    return this.#now.signal;
  }

  end(): void {
    this.#now.abort();
  }
}

async function challenge(): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return await call('POST /api/auth/passkey/generate-authenticate-options');
}

async function proveWith(options: PublicKeyCredentialRequestOptionsJSON, how: AskOptions): Promise<void> {
  const response = await askForPasskey(options, how);
  await call('POST /api/auth/passkey/verify-authentication', { body: { response } });
}
