import { useState, type ReactNode } from 'react';
import { ApiError, call } from '../lib/api.ts';
import { ConfirmedContext, type Confirmed } from '../lib/action.ts';
import { signOut, useSession } from '../lib/session.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from '../ui/Button.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { TextField } from '../ui/Field.tsx';
import { Form } from '../ui/Form.tsx';
import { FormError } from '../ui/States.tsx';

interface Waiting {
  readonly proceed: () => void;
  readonly giveUp: () => void;
}

/** Sensitive actions require the password again; this asks for it, on any page. */
export function ConfirmProvider({ children }: { children: ReactNode }) {
  const [waiting, setWaiting] = useState<Waiting>();
  const [confirmed] = useState(() => makeConfirmed(setWaiting));
  return (
    <ConfirmedContext value={confirmed}>
      {children}
      {waiting ? <PasswordDialog {...waiting} /> : null}
    </ConfirmedContext>
  );
}

function makeConfirmed(show: (waiting: Waiting | undefined) => void): Confirmed {
  const askFor = async (refusal: ApiError): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    show({ proceed: resolve, giveUp: () => reject(refusal) });
    try {
      await promise;
    } finally {
      show(undefined);
    }
  };
  return async (act) => {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'confirmation_required') throw error;
      await askFor(error);
      return await act();
    }
  };
}

function PasswordDialog(waiting: Waiting) {
  const { t } = useTranslation();
  const hasPassword = useSession().data?.user?.hasPassword !== false;
  return (
    <Dialog open onClose={waiting.giveUp} title={t('confirm.title')}>
      {hasPassword ? (
        <PasswordForm {...waiting} />
      ) : (
        <div className="flex flex-col items-start gap-4">
          <p className="text-ink-2">{t('confirm.noPassword')}</p>
          <Button kind="primary" onClick={() => void signOut()}>
            {t('nav.signOut')}
          </Button>
        </div>
      )}
    </Dialog>
  );
}

function PasswordForm({ proceed, giveUp }: Waiting) {
  const { t } = useTranslation();
  const [password, setPassword] = useState('');
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      await call('POST /api/console/confirm', { body: { password } });
      proceed();
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
      setBusy(false);
    }
  };
  return (
    <Form onSubmit={() => void submit()}>
      <p className="text-ink-2">{t('confirm.lead')}</p>
      <TextField
        label={t('auth.password')}
        type="password"
        autoComplete="current-password"
        autoFocus
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <FormError error={error} />
      <div className="flex justify-end gap-2">
        <Button onClick={giveUp}>{t('common.cancel')}</Button>
        <Button type="submit" kind="primary" busy={busy}>
          {t('confirm.go')}
        </Button>
      </div>
    </Form>
  );
}
