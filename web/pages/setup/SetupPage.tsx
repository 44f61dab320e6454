import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'wouter';
import { useApi } from '../../lib/api.ts';
import { classes } from '../../lib/classes.ts';
import { useSession } from '../../lib/session.ts';
import { useTitle } from '../../lib/title.ts';
import { LanguageButton, ThemeButton } from '../../shell/Preferences.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { Logo } from '../../ui/Logo.tsx';
import { Empty, Skeleton } from '../../ui/States.tsx';
import { AccountStep } from './AccountStep.tsx';
import { CallStep } from './CallStep.tsx';
import { DoneStep } from './DoneStep.tsx';
import { EndpointsStep } from './EndpointsStep.tsx';

const STEPS = ['stepAccount', 'stepEndpoints', 'stepCall', 'stepDone'] as const;

/** First run: administrator → endpoints → first call → done. The account exists after the first step; the rest is a tour. */
export default function SetupPage() {
  const { t } = useTranslation();
  useTitle(t('setup.title', { name: 'Tollgate' }));
  const token = useSetupToken();
  const session = useSession().data;
  const [step, setStep] = useState(0);
  const check = useApi(
    'GET /api/console/setup',
    { query: { token } },
    { enabled: step === 0, staleTime: Infinity },
  );
  const gone = step === 0 && (check.error !== null || check.data?.valid === false);
  return (
    <div className="min-h-dvh">
      <header className="mx-auto flex h-14 max-w-2xl items-center px-4 sm:px-6">
        <span className="mr-auto">
          <Logo name={session?.site.name} />
        </span>
        <LanguageButton />
        <ThemeButton />
      </header>
      <main className="mx-auto max-w-2xl px-4 pt-6 pb-20 sm:px-6 sm:pt-12">
        {gone ? (
          <Empty
            title={t('setup.invalidTitle')}
            action={<LinkButton href="/sign-in">{t('auth.signIn')}</LinkButton>}
          >
            {t('setup.invalid')}
          </Empty>
        ) : (
          <>
            <Progress step={step} />
            <h1 className="mt-8 mb-6 text-2xl font-semibold tracking-tight">
              {step === 3 ? t('setup.doneTitle') : t(`setup.${STEPS[step] ?? 'stepAccount'}`)}
            </h1>
            {step === 0 && check.isPending ? <Skeleton className="h-56 w-full" /> : null}
            {step === 0 && check.data ? <AccountStep token={token} onDone={() => setStep(1)} /> : null}
            {step === 1 ? <EndpointsStep onDone={() => setStep(2)} /> : null}
            {step === 2 ? <CallStep onDone={() => setStep(3)} /> : null}
            {step === 3 ? <DoneStep /> : null}
          </>
        )}
      </main>
    </div>
  );
}

function Progress({ step }: { step: number }) {
  const { t } = useTranslation();
  return (
    <ol
      className="grid grid-cols-4 gap-2"
      aria-label={t('setup.step', { step: step + 1, count: STEPS.length })}
    >
      {STEPS.map((name, index) => (
        <li key={name} aria-current={index === step ? 'step' : undefined}>
          <div
            className={classes('h-1 rounded-full transition-colors', index <= step ? 'bg-accent' : 'bg-line')}
          />
          <span
            className={classes(
              'mt-1.5 block text-xs sm:text-sm',
              index === step ? 'font-medium text-ink' : 'text-ink-3',
            )}
          >
            {t(`setup.${name}`)}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The link carries the token as a query; a path is understood too. */
function useSetupToken(): string {
  const { token } = useParams<{ token?: string }>();
  return token ?? new URLSearchParams(location.search).get('token') ?? '';
}
