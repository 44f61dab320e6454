import { useQueryClient } from '@tanstack/react-query';
import ArrowRight from 'lucide-react/icons/arrow-right';
import Check from 'lucide-react/icons/check';
import type { ReactNode } from 'react';
import { useParams } from 'wouter';
import type { ModelItem, Overview } from '../../lib/answers.ts';
import { useAction } from '../../lib/action.ts';
import { useApi, call } from '../../lib/api.ts';
import { classes } from '../../lib/classes.ts';
import { useForm } from '../../lib/form.ts';
import { useFreshToken, useCreateToken } from '../../lib/freshToken.ts';
import { approximate, formatUsd } from '../../lib/money.ts';
import { refreshSession } from '../../lib/query.ts';
import { useSession, useTitle } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LanguageButton, ThemeButton } from '../../shell/PublicShell.tsx';
import { LinkButton, Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { Link } from '../../ui/Link.tsx';
import { Logo } from '../../ui/Logo.tsx';
import { Empty, Skeleton, FormError } from '../../ui/States.tsx';
import { NewPasswordField } from '../auth/AuthFrame.tsx';
import { CallReceipt, GUIDE, CallStep, useFirstModel, useFirstCall } from './CallStep.tsx';

/** First run, on one page: administrator, starting credit and token, a first call with its receipt, next steps. */
export default function SetupPage() {
  const { t } = useTranslation();
  useTitle(t('setup.title', { name: 'Tollgate' }));
  const token = useSetupToken();
  const session = useSession().data;
  // The first step creates the administrator and signs them in, so after a reload the session tells that it is done.
  const created = session?.user?.role === 'owner';
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
            {check.error ? t('setup.done') : t('setup.invalid')}
          </Empty>
        ) : (
          <>
            <h1 className="text-2xl font-semibold tracking-tight">
              {t('setup.title', { name: session?.site.name ?? 'Tollgate' })}
            </h1>
            <p className="mt-1 mb-8 text-ink-3">{t('firstRun.lead')}</p>
            {!created && check.isPending ? <Skeleton className="h-56 w-full" /> : null}
            {created || check.data ? <Steps token={token} isCreated={created} /> : null}
          </>
        )}
      </main>
    </div>
  );
}

/** The link carries the token in its query; one in the path works too. */
function useSetupToken(): string {
  const { token } = useParams<{ token?: string }>();
  return token ?? new URLSearchParams(location.search).get('token') ?? '';
}

interface StepsProps {
  readonly token: string;
  readonly isCreated: boolean;
}

function Steps({ token, isCreated }: StepsProps) {
  const { t } = useTranslation();
  const email = useSession().data?.user?.email;
  const firstCall = useFirstCall();
  const model = useFirstModel();
  // Fetched once: it keeps showing the starting credit while the receipt shows what is left.
  const overview = useApi('GET /api/console/overview', undefined, {
    enabled: isCreated,
    staleTime: Infinity,
  }).data;
  const wasAnswered = overview !== undefined && overview.latest.length > 0;
  const isAnswered = firstCall.receipt !== undefined || wasAnswered;
  const hasFreshToken = useFreshToken() !== undefined;
  const hasToken = hasFreshToken || Boolean(overview?.token);
  return (
    <ol className="flex flex-col">
      <Step number={1} title={t('firstRun.account')} state={isCreated ? 'done' : 'now'}>
        {isCreated ? (
          <p className="break-words text-ink-2">{t('firstRun.accountDone', { email })}</p>
        ) : (
          <div className="max-w-xl">
            <AccountStep token={token} />
          </div>
        )}
      </Step>
      <Step number={2} title={t('firstRun.credit')} state={hasToken ? 'done' : isCreated ? 'open' : 'later'}>
        {isCreated ? <CreditStep overview={overview} isUsed={wasAnswered} /> : null}
      </Step>
      <Step number={3} title={t('firstRun.call')} state={isAnswered ? 'done' : isCreated ? 'now' : 'later'}>
        {isCreated ? (
          <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem]">
            <CallStep call={firstCall} model={model} />
            <CallReceipt call={firstCall} />
          </div>
        ) : null}
      </Step>
      <Step
        number={4}
        title={t('firstRun.next')}
        state={isAnswered || model === null ? 'now' : 'later'}
        isLast
      >
        {isCreated ? <NextStep model={isAnswered ? model : undefined} /> : null}
      </Step>
    </ol>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  /** `open` can be done now, and may be skipped. */
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

function AccountStep({ token }: { token: string }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { values, field } = useForm({ email: '', password: '', name: '' });
  const create = useAction(async () => {
    await call('POST /api/console/setup', { body: { token, ...values, email: values.email.trim() } });
    await refreshSession(client);
  });
  const weak = create.error?.code === 'weak_password';
  return (
    <Form onSubmit={() => create.mutate()}>
      <p className="mb-2 text-ink-2">{t('setup.accountLead')}</p>
      <TextField
        label={t('auth.email')}
        type="email"
        name="email"
        autoComplete="username"
        autoFocus
        required
        {...field('email')}
      />
      <NewPasswordField error={weak ? create.error?.message : undefined} {...field('password')} />
      <TextField label={t('auth.name')} name="name" autoComplete="name" maxLength={100} {...field('name')} />
      <FormError error={weak ? undefined : create.error} />
      <Button type="submit" kind="primary" busy={create.isPending} className="self-start">
        {t('setup.create')}
      </Button>
    </Form>
  );
}

/** The starting credit, and the token for programs, which may be created later. */
function CreditStep({ overview, isUsed }: { overview: Overview | undefined; isUsed: boolean }) {
  const { t, i18n } = useTranslation();
  const token = useFreshToken();
  const create = useCreateToken(() => undefined);
  const credited = overview !== undefined && approximate(overview.balanceUsd) > 0;
  return (
    <div className="flex max-w-2xl flex-col gap-3">
      {overview ? (
        <p className="text-ink-2">
          {credited
            ? t(isUsed ? 'firstRun.creditLeft' : 'firstRun.creditLead', {
                amount: formatUsd(overview.balanceUsd, i18n.language),
              })
            : t('firstRun.noCredit')}
        </p>
      ) : null}
      {token === undefined ? (
        <div className="flex flex-wrap items-center gap-3">
          <Button small busy={create.isPending} onClick={() => create.mutate()}>
            {t('firstRun.tokenMake')}
          </Button>
          <p className="flex-1 basis-60 text-sm text-ink-3">
            {overview?.token
              ? t('firstRun.tokenKnown', { hint: overview.token.hint })
              : t('firstRun.tokenSkip')}
          </p>
        </div>
      ) : (
        <div className="flex flex-col gap-2">
          <p className="text-ink-2">{t('firstRun.tokenLead')}</p>
          <div className="flex flex-wrap items-center gap-3 rounded-md border border-accent bg-accent-soft p-3">
            <code data-testid="token" className="min-w-0 flex-1 basis-60 text-sm break-all select-all">
              {token}
            </code>
            <CopyButton text={token} />
          </div>
        </div>
      )}
      <FormError error={create.error} />
    </div>
  );
}

const NEXT_PAGES = [
  { href: '/admin/backends/new', title: 'backend', lead: 'backendLead' },
  { href: '/app', title: 'demo', lead: 'demoLead' },
  { href: '/admin/accounts', title: 'people', lead: 'peopleLead' },
] as const;

/** Says what has answered so far, and where to go from here. */
function NextStep({ model }: { model: ModelItem | null | undefined }) {
  const { t } = useTranslation();
  return (
    <>
      {model ? (
        <p className="mb-4 max-w-2xl text-ink-2">
          {model.model === GUIDE
            ? t('firstRun.nextLead')
            : t('firstRun.nextReal', { model: model.displayName })}
        </p>
      ) : null}
      <ul className="max-w-2xl divide-y divide-line rounded-lg border border-line bg-surface">
        {NEXT_PAGES.map(({ href, title, lead }) => (
          <li key={href}>
            <Link
              href={href}
              className="group flex items-center gap-4 px-5 py-4 transition-colors hover:bg-hover"
            >
              <span className="flex-1">
                <span className="block font-medium">{t(`firstRun.${title}`)}</span>
                <span className="text-ink-3">{t(`firstRun.${lead}`)}</span>
              </span>
              <ArrowRight
                size={17}
                aria-hidden
                className="text-ink-3 transition-transform group-hover:translate-x-1"
              />
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
