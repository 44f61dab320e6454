import { useState, type ReactNode } from 'react';
import Check from 'lucide-react/icons/check';
import { useParams } from 'wouter';
import { useApi } from '../../lib/api.ts';
import { classes } from '../../lib/classes.ts';
import { useFreshToken } from '../../lib/freshToken.ts';
import { useSession } from '../../lib/session.ts';
import { useTitle } from '../../lib/title.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LanguageButton, ThemeButton } from '../../shell/Preferences.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { Logo } from '../../ui/Logo.tsx';
import { Empty, Skeleton } from '../../ui/States.tsx';
import { AccountStep } from './AccountStep.tsx';
import { CallReceipt } from './CallReceipt.tsx';
import { CallStep, useFirstModel } from './CallStep.tsx';
import { CreditStep } from './CreditStep.tsx';
import { useFirstCall } from './firstCall.ts';
import { NextStep } from './NextStep.tsx';

/** First run, on one page: administrator, starting credit and token, a first call with its receipt beside it, what is next. */
export default function SetupPage() {
  const { t } = useTranslation();
  useTitle(t('setup.title', { name: 'Tollgate' }));
  const token = useSetupToken();
  const session = useSession().data;
  const [created, setCreated] = useState(false);
  const check = useApi(
    'GET /api/console/setup',
    { query: { token } },
    { enabled: !created, staleTime: Infinity },
  );
  const gone = !created && (check.error !== null || check.data?.valid === false);
  return (
    <div className="min-h-dvh">
      <header className="mx-auto flex h-14 max-w-5xl items-center px-4 sm:px-6">
        <span className="mr-auto">
          <Logo name={session?.site.name} />
        </span>
        <LanguageButton />
        <ThemeButton />
      </header>
      <main className="mx-auto max-w-5xl px-4 pt-6 pb-20 sm:px-6 sm:pt-8">
        {gone ? (
          <Empty
            title={t('setup.invalidTitle')}
            action={<LinkButton href="/sign-in">{t('auth.signIn')}</LinkButton>}
          >
            {t('setup.invalid')}
          </Empty>
        ) : (
          <>
            <h1 className="text-2xl font-semibold tracking-tight">
              {t('setup.title', { name: session?.site.name ?? 'Tollgate' })}
            </h1>
            <p className="mt-1 mb-8 text-ink-3">{t('firstRun.lead')}</p>
            {!created && check.isPending ? <Skeleton className="h-56 w-full" /> : null}
            {created || check.data ? (
              <Steps token={token} isCreated={created} onCreated={() => setCreated(true)} />
            ) : null}
          </>
        )}
      </main>
    </div>
  );
}

interface StepsProps {
  readonly token: string;
  readonly isCreated: boolean;
  readonly onCreated: () => void;
}

function Steps({ token, isCreated, onCreated }: StepsProps) {
  const { t } = useTranslation();
  const email = useSession().data?.user?.email;
  const call = useFirstCall();
  const model = useFirstModel();
  const isAnswered = call.receipt !== undefined;
  const hasToken = useFreshToken() !== undefined;
  return (
    <ol className="flex flex-col">
      <Step number={1} title={t('firstRun.account')} state={isCreated ? 'done' : 'now'}>
        {isCreated ? (
          <p className="break-words text-ink-2">{t('firstRun.accountDone', { email })}</p>
        ) : (
          <div className="max-w-xl">
            <AccountStep token={token} onDone={onCreated} />
          </div>
        )}
      </Step>
      <Step number={2} title={t('firstRun.credit')} state={hasToken ? 'done' : isCreated ? 'open' : 'later'}>
        {isCreated ? <CreditStep /> : null}
      </Step>
      <Step number={3} title={t('firstRun.call')} state={isAnswered ? 'done' : isCreated ? 'now' : 'later'}>
        {isCreated ? (
          <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem]">
            <CallStep call={call} model={model} />
            <CallReceipt call={call} />
          </div>
        ) : null}
      </Step>
      <Step
        number={4}
        title={t('firstRun.next')}
        state={isAnswered || model === null ? 'now' : 'later'}
        isLast
      >
        {isCreated ? <NextStep model={model} /> : null}
      </Step>
    </ol>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  /** `open`: it can be done, and may be left out. */
  readonly state: 'done' | 'now' | 'open' | 'later';
  readonly isLast?: boolean;
  readonly children: ReactNode;
}

const MARKS: Record<StepProps['state'], string> = {
  done: 'bg-accent-soft text-accent',
  now: 'bg-accent text-on-accent',
  open: 'border border-accent text-accent',
  later: 'border border-field text-ink-2',
};

function Step({ number, title, state, isLast, children }: StepProps) {
  const { t } = useTranslation();
  return (
    <li aria-current={state === 'now' ? 'step' : undefined} className="flex gap-4">
      <div className="hidden flex-col items-center sm:flex">
        <Mark number={number} state={state} label={t('common.done')} />
        {isLast ? null : <span aria-hidden className="w-px flex-1 bg-line" />}
      </div>
      <section className="min-w-0 flex-1 pb-9">
        <h2
          className={classes(
            'mb-3 flex items-center gap-3 pt-0.5 text-lg font-semibold tracking-tight',
            state === 'later' && 'text-ink-3',
          )}
        >
          <span aria-hidden className="sm:hidden">
            <Mark number={number} state={state} label="" />
          </span>
          {title}
        </h2>
        {children}
      </section>
    </li>
  );
}

function Mark({ number, state, label }: Pick<StepProps, 'number' | 'state'> & { readonly label: string }) {
  return (
    <span
      className={classes(
        'grid size-7 shrink-0 place-items-center rounded-full text-sm font-medium',
        MARKS[state],
      )}
    >
      {state === 'done' ? <Check size={15} aria-label={label} /> : number}
    </span>
  );
}

/** The link carries the token as a query; a path is understood too. */
function useSetupToken(): string {
  const { token } = useParams<{ token?: string }>();
  return token ?? new URLSearchParams(location.search).get('token') ?? '';
}
