import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { refreshSession } from '../../lib/query.ts';
import { useSession, useSite } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { AuthFrame, Contact } from './AuthFrame.tsx';
import { Link } from '../../ui/Link.tsx';
import { SignInForm, type SignInStep } from './SignInForm.tsx';
import { SocialButtons } from './SocialButtons.tsx';

export default function SignInPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const session = useSession().data;
  const { search } = location;
  const [step, setStep] = useState<SignInStep>('password');
  // With a session, this page redirects to where the user was going.
  const form = <SignInForm step={step} onStep={setStep} onDone={() => void refreshSession(client)} />;
  if (step === 'code') return <AuthFrame title={t('auth.codeTitle')}>{form}</AuthFrame>;
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
      {form}
    </AuthFrame>
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
