import KeyRound from 'lucide-react/icons/key-round';
import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { passkeysMissing } from '../../lib/passkey.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Check, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { FormError } from '../../ui/States.tsx';
import { usePasskey } from './usePasskey.ts';

export type SignInStep = 'password' | 'code';

interface SignInFormProps {
  readonly step: SignInStep;
  readonly onStep: (step: SignInStep) => void;
  /** There is a session now. */
  readonly onDone: () => void;
  /** The address of the user who was signed in before. */
  readonly knownEmail?: string;
}

/** Password, then the second factor if the account has one; or a passkey, which stands for both. */
export function SignInForm({ step, onStep, onDone, knownEmail }: SignInFormProps) {
  if (step === 'code') return <SecondFactor onDone={onDone} onStartOver={() => onStep('password')} />;
  return (
    <>
      <PasswordForm knownEmail={knownEmail} onDone={(needsCode) => (needsCode ? onStep('code') : onDone())} />
      {passkeysMissing() ? null : <PasskeyButton onDone={onDone} />}
    </>
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
    <>
      <p className="mb-5 text-ink-3">{backup ? t('auth.backupLead') : t('auth.codeLead')}</p>
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
      <div className="mt-5 flex flex-wrap gap-x-6 gap-y-2">
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
    </>
  );
}

interface PasswordFormProps {
  readonly knownEmail: string | undefined;
  readonly onDone: (needsCode: boolean) => void;
}

function PasswordForm({ knownEmail, onDone }: PasswordFormProps) {
  const { t } = useTranslation();
  const [email, setEmail] = useState(knownEmail ?? '');
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
        autoFocus={knownEmail === undefined}
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <TextField
        label={t('auth.password')}
        type="password"
        name="password"
        autoComplete="current-password"
        autoFocus={knownEmail !== undefined}
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

function PasskeyButton({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const passkey = usePasskey(onDone);
  return (
    <div className="mt-3 flex flex-col gap-3">
      <Button icon={<KeyRound size={15} aria-hidden />} busy={passkey.busy} onClick={passkey.signIn}>
        {t('auth.withPasskey')}
      </Button>
      <FormError error={passkey.error} />
    </div>
  );
}
