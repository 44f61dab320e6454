import { useQueryClient } from '@tanstack/react-query';
import KeyRound from 'lucide-react/icons/key-round';
import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { passkeysMissing } from '../../lib/passkey.ts';
import { refreshSession } from '../../lib/query.ts';
import { useSession, useSite } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Contact } from '../../ui/Contact.tsx';
import { Check, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { Link } from '../../ui/Link.tsx';
import { FormError } from '../../ui/States.tsx';
import { AuthFrame } from './AuthFrame.tsx';
import { SocialButtons } from './SocialButtons.tsx';
import { usePasskey } from './usePasskey.ts';

export default function SignInPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const session = useSession().data;
  const { search } = location;
  const [needsCode, setNeedsCode] = useState(false);
  // With a session, this page redirects to where the user was going.
  const entered = (): void => void refreshSession(client);
  if (needsCode) return <SecondFactor onDone={entered} onStartOver={() => setNeedsCode(false)} />;
  const signUpHref = `/sign-up${search}`;
  return (
    <AuthFrame
      title={t('auth.signInTitle')}
      lead={t('auth.signInLead')}
      footer={
        <div className="flex flex-col gap-2.5">
          {session?.signUp === 'closed' ? null : (
            <p>
              {t('auth.noAccount')}{' '}
              <Link href={signUpHref} className="text-accent underline underline-offset-2">
                {t('auth.signUp')}
              </Link>
            </p>
          )}
          <ForgotPassword />
        </div>
      }
    >
      <SocialButtons providers={session?.socialProviders ?? []} failed={search.includes('error=')} />
      <PasswordForm onDone={(code) => (code ? setNeedsCode(true) : entered())} />
      {passkeysMissing() ? null : <PasskeyButton />}
    </AuthFrame>
  );
}

/** The password was right; now the code of the app, or a backup code. */
function SecondFactor({ onDone, onStartOver }: { onDone: () => void; onStartOver: () => void }) {
  const { t } = useTranslation();
  const [backup, setBackup] = useState(false);
  const [code, setCode] = useState('');
  const [trustDevice, setTrustDevice] = useState(false);
  const verify = useAction(
    async () =>
      backup
        ? await call('POST /api/auth/two-factor/verify-backup-code', { body: { code: code.trim() } })
        : await call('POST /api/auth/two-factor/verify-totp', {
            body: {
              code: code.replace(/\s/g, ''),
              trustDevice,
            },
          }),
    { onDone },
  );
  return (
    <AuthFrame
      title={t('auth.codeTitle')}
      lead={backup ? t('auth.backupLead') : t('auth.codeLead')}
      footer={
        <div className="flex flex-wrap gap-x-6 gap-y-2">
          <button
            type="button"
            className="text-accent underline underline-offset-2"
            onClick={() => setBackup(!backup)}
          >
            {backup ? t('auth.useTotp') : t('auth.useBackup')}
          </button>
          <button type="button" className="text-accent underline underline-offset-2" onClick={onStartOver}>
            {t('auth.startOver')}
          </button>
        </div>
      }
    >
      <Form onSubmit={() => verify.mutate()}>
        <TextField
          key={backup ? 'backup' : 'totp'}
          label={backup ? t('auth.backupCode') : t('auth.code')}
          autoComplete="one-time-code"
          inputMode={backup ? 'text' : 'numeric'}
          autoFocus
          required
          className="font-mono tracking-widest"
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
        {backup ? null : (
          <Check
            label={t('auth.trust')}
            checked={trustDevice}
            onChange={(event) => setTrustDevice(event.target.checked)}
          />
        )}
        <FormError error={verify.error} />
        <Button type="submit" kind="primary" busy={verify.isPending}>
          {t('auth.verify')}
        </Button>
      </Form>
    </AuthFrame>
  );
}

function PasswordForm({ onDone }: { onDone: (needsCode: boolean) => void }) {
  const { t } = useTranslation();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [rememberMe, setRememberMe] = useState(true);
  const signIn = useAction(
    async () =>
      await call('POST /api/auth/sign-in/email', { body: { email: email.trim(), password, rememberMe } }),
    { onDone: (answer) => onDone(answer.twoFactorRedirect) },
  );
  return (
    <Form onSubmit={() => signIn.mutate()}>
      <TextField
        label={t('auth.email')}
        type="email"
        name="email"
        autoComplete="username webauthn"
        autoFocus
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <TextField
        label={t('auth.password')}
        type="password"
        name="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <Check
        label={t('auth.remember')}
        checked={rememberMe}
        onChange={(event) => setRememberMe(event.target.checked)}
      />
      <FormError error={signIn.error} />
      <Button type="submit" kind="primary" busy={signIn.isPending} className="mt-1">
        {t('auth.signIn')}
      </Button>
    </Form>
  );
}

function PasskeyButton() {
  const { t } = useTranslation();
  const passkey = usePasskey();
  return (
    <div className="mt-3 flex flex-col gap-3">
      <Button icon={<KeyRound size={15} aria-hidden />} busy={passkey.busy} onClick={passkey.signIn}>
        {t('auth.withPasskey')}
      </Button>
      <FormError error={passkey.error} />
    </div>
  );
}

/** A link to reset the password if the server sends mail; otherwise the operator does it: the page says whom to ask. */
function ForgotPassword() {
  const { t } = useTranslation();
  const contact = useSite()?.contact;
  if (useSession().data?.sendsMail)
    return (
      <p>
        <Link href="/forgot-password" className="text-accent underline underline-offset-2">
          {t('mailbox.forgot')}
        </Link>
      </p>
    );
  return (
    <p>
      {contact ? (
        <>
          {t('auth.forgotContact')} <Contact text={contact} />
        </>
      ) : (
        t('auth.forgot')
      )}
    </p>
  );
}
