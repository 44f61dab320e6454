import { useEffect, useEffectEvent, useState } from 'react';
import type { SignedInUser } from '../lib/answers.ts';
import { call } from '../lib/api.ts';
import { signInHref } from '../lib/nextPath.ts';
import { useSession } from '../lib/session.ts';
import { useTranslation } from '../lib/translation.tsx';
import { SignInForm, type SignInStep } from '../pages/auth/SignInForm.tsx';
import { Button } from '../ui/Button.tsx';
import { Dialog } from '../ui/Dialog.tsx';

interface SignInDialogProps {
  /** The user who was signed in. */
  readonly user: SignedInUser;
  /** The same user has a session again. */
  readonly done: () => void;
}

export default function SignInDialog({ user, done }: SignInDialogProps) {
  const { t } = useTranslation();
  const [step, setStep] = useState<SignInStep>('password');
  const hasProviders = (useSession().data?.socialProviders.length ?? 0) > 0;
  const check = useEffectEvent(async (): Promise<void> => {
    const now = (await call('GET /api/console/session')).user;
    if (now?.accountId === user.accountId) done();
    // The open page belongs to another user, and must not be sent in this one's name.
    else if (now) location.reload();
  });
  useEffect(() => {
    // Signed in again in another tab, perhaps with a provider.
    const onFocus = (): void => void check();
    addEventListener('focus', onFocus);
    return () => removeEventListener('focus', onFocus);
  }, []);
  return (
    <Dialog
      open
      insistent
      onClose={() => undefined}
      title={step === 'code' ? t('auth.codeTitle') : t('again.title')}
    >
      <div className="flex flex-col gap-5">
        {step === 'code' ? null : <p className="text-ink-2">{t('again.lead')}</p>}
        <div>
          <SignInForm step={step} onStep={setStep} onDone={() => void check()} knownEmail={user.email} />
        </div>
        <div className="flex flex-wrap items-center justify-between gap-3 border-t border-line pt-4">
          {hasProviders ? (
            <a
              href="/sign-in"
              target="_blank"
              rel="noreferrer"
              className="text-accent underline underline-offset-2"
            >
              {t('again.elsewhere')}
            </a>
          ) : null}
          <Button kind="ghost" className="ml-auto" onClick={() => location.assign(signInHref())}>
            {t('again.leave')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
