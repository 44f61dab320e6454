import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, useSyncExternalStore } from 'react';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call, type ApiError } from '../../lib/api.ts';
import { refreshSession } from '../../lib/query.ts';
import { useSite } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Splash } from '../../shell/Loading.tsx';
import { Button, LinkButton } from '../../ui/Button.tsx';
import { AuthFrame, Contact, NewPasswordField } from './AuthFrame.tsx';
import { Form } from '../../ui/Form.tsx';
import { ErrorState, FormError } from '../../ui/States.tsx';

type PasswordResetState = Answer<'POST /api/console/password-reset/check'>;

/** The page of a reset link, which sets a new password once. */
export default function ResetPasswordPage() {
  const { t } = useTranslation();
  const token = useLinkToken();
  const [done, setDone] = useState(false);
  const check = useQuery<PasswordResetState, ApiError>({
    queryKey: ['password reset', token],
    queryFn: async ({ signal }) =>
      await call('POST /api/console/password-reset/check', { body: { token }, signal }),
    enabled: token !== '',
    staleTime: Infinity,
  });
  if (done && token === '') return <Changed />;
  if (token === '' || check.data?.valid === false) return <NotGood />;
  if (check.data)
    return (
      <NewPassword key={token} token={token} email={check.data.email ?? ''} onDone={() => setDone(true)} />
    );
  if (!check.error) return <Splash />;
  return (
    <AuthFrame title={t('auth.resetTitle')} lead="">
      <ErrorState error={check.error} onRetry={() => void check.refetch()} />
    </AuthFrame>
  );
}

interface NewPasswordProps {
  readonly token: string;
  readonly email: string;
  readonly onDone: () => void;
}

function NewPassword({ token, email, onDone }: NewPasswordProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [password, setPassword] = useState('');
  const change = useAction(
    async () => await call('POST /api/console/password-reset', { body: { token, password } }),
    {
      onDone: () => {
        // A used token should not stay in the address bar and the history.
        history.replaceState(null, '', location.pathname);
        onDone();
        void refreshSession(client);
      },
    },
  );
  if (change.error?.code === 'code_invalid') return <NotGood />;
  const weak = change.error?.code === 'weak_password';
  return (
    <AuthFrame
      title={t('auth.resetTitle')}
      lead={t('auth.resetLead', { email })}
      footer={t('auth.resetKeeps')}
    >
      <Form onSubmit={() => change.mutate()}>
        <input type="text" autoComplete="username" value={email} readOnly hidden />
        <NewPasswordField
          label={t('auth.resetField')}
          autoFocus
          error={weak ? change.error?.message : undefined}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <FormError error={weak ? undefined : change.error} />
        <Button type="submit" kind="primary" busy={change.isPending} className="mt-1">
          {t('auth.resetGo')}
        </Button>
      </Form>
    </AuthFrame>
  );
}

function Changed() {
  const { t } = useTranslation();
  return (
    <AuthFrame title={t('auth.resetDoneTitle')} lead={t('auth.resetDone')}>
      <LinkButton href="/sign-in" kind="primary">
        {t('auth.signIn')}
      </LinkButton>
    </AuthFrame>
  );
}

function NotGood() {
  const { t } = useTranslation();
  const contact = useSite()?.contact;
  return (
    <AuthFrame title={t('auth.resetInvalidTitle')} lead={t('auth.resetInvalid')}>
      <div className="flex flex-col items-start gap-5">
        {contact ? (
          <p className="text-ink-3">
            {t('auth.contact')} <Contact text={contact} />
          </p>
        ) : null}
        <LinkButton href="/sign-in">{t('auth.signIn')}</LinkButton>
      </div>
    </AuthFrame>
  );
}

/** The token comes after the `#`, which browsers do not send. Another link may be opened in the same tab. */
function useLinkToken(): string {
  return useSyncExternalStore(onHashChange, () => location.hash.slice(1));
}

function onHashChange(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}
