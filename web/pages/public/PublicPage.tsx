import type { EndpointItem } from '../../lib/answers.ts';
import { useApi } from '../../lib/api.ts';
import { useSession, useTitle } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { currentWallet } from '../../lib/wallet.ts';
import { PublicShell } from '../../shell/PublicShell.tsx';
import { Dot } from '../../ui/Badge.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { Loaded, SkeletonRows } from '../../ui/States.tsx';
import { PriceList } from './PriceList.tsx';
import { Sample } from './Sample.tsx';

const PROMISES = [
  { title: 'exactTitle', text: 'exact' },
  { title: 'explainedTitle', text: 'explained' },
  { title: 'homeTitle', text: 'home' },
] as const;

/** What this server offers, at what price, and whether it works right now. */
export default function PublicPage() {
  const { t } = useTranslation();
  useTitle(undefined);
  const models = useApi(
    'GET /api/console/models',
    { query: { wallet: currentWallet() } },
    { staleTime: 30_000 },
  );
  return (
    <PublicShell>
      <div className="mx-auto max-w-[76rem] px-4 sm:px-8">
        <Hero />
        <Sample models={models.data?.models ?? []} />
        <section className="grid gap-px overflow-hidden border-y border-line bg-line sm:grid-cols-3">
          {PROMISES.map(({ title, text }) => (
            <div key={title} className="bg-page py-7 sm:px-6 sm:first:pl-0 sm:last:pr-0">
              <h2 className="font-semibold">{t(`public.${title}`)}</h2>
              <p className="mt-1.5 max-w-[46ch] text-ink-2">{t(`public.${text}`)}</p>
            </div>
          ))}
        </section>
        <section id="models" className="scroll-mt-16 py-14">
          <div className="mb-5 flex flex-wrap items-end gap-x-6 gap-y-2">
            <div className="flex-1 basis-72">
              <h2 className="text-xl font-semibold tracking-tight">{t('public.modelsTitle')}</h2>
              <p className="text-ink-3">{t('public.modelsLead')}</p>
            </div>
            {models.data ? <StatusLine endpoints={models.data.endpoints} /> : null}
          </div>
          <Loaded query={models} skeleton={<SkeletonRows rows={8} />}>
            {(data) => <PriceList {...data} />}
          </Loaded>
        </section>
      </div>
    </PublicShell>
  );
}

function Hero() {
  const { t } = useTranslation();
  const session = useSession().data;
  const closed = session?.signUp === 'closed';
  return (
    <section className="grid items-center gap-10 pt-14 pb-12 sm:pt-20 sm:pb-16 lg:grid-cols-[1.25fr_1fr]">
      <div>
        <h1 className="text-2xl font-semibold tracking-[-0.022em] sm:text-3xl lg:text-[2.75rem] lg:leading-[1.1]">
          {/* Each sentence begins a line. */}
          {t('public.title')
            .split(/(?<=\.) /)
            .map((sentence) => (
              <span key={sentence} className="block text-balance">
                {sentence}{' '}
              </span>
            ))}
        </h1>
        <p className="mt-5 max-w-[58ch] text-lg text-ink-2">{t('public.lead')}</p>
        <div className="mt-7 flex flex-wrap gap-2.5">
          {session?.user ? (
            <LinkButton kind="primary" href="/app">
              {t('nav.console')}
            </LinkButton>
          ) : (
            <LinkButton kind="primary" href={closed ? '/sign-in' : '/sign-up'}>
              {closed ? t('nav.signIn') : t('public.start')}
            </LinkButton>
          )}
          <LinkButton href="/docs">{t('public.docs')}</LinkButton>
        </div>
      </div>
      <GateFigure />
    </section>
  );
}

/** The product in a picture: a gate that opens, and the small exact amounts that pass under it. */
function GateFigure() {
  return (
    <svg
      viewBox="0 0 460 330"
      fill="none"
      aria-hidden
      className="hidden w-full max-w-[30rem] text-ink lg:block"
    >
      <path d="M0 292h460" stroke="var(--c-line)" strokeWidth="1.5" />
      <path d="M40 310h150M230 310h120M390 310h40" stroke="var(--c-line)" strokeWidth="1.5" />
      <g fontFamily="var(--font-mono)" fontSize="13" fill="var(--c-ink-3)">
        {PASSING.map(({ text, x, y, opacity }) => (
          <text key={text} x={x} y={y} opacity={opacity}>
            {text}
          </text>
        ))}
      </g>
      <path d="M330 292V170a20 20 0 0 1 20-20h0a20 20 0 0 1 20 20v122z" fill="currentColor" />
      <path d="M362 168 58 57" stroke="currentColor" strokeWidth="22" />
      <path d="M318 152 58 57" stroke="var(--c-accent)" strokeWidth="22" strokeDasharray="34.6 34.6" />
      <circle cx="350" cy="164" r="9" fill="var(--c-page)" />
      <circle cx="350" cy="228" r="7" fill="var(--c-accent)" />
      <path d="M318 292h64" stroke="currentColor" strokeWidth="10" />
    </svg>
  );
}

const PASSING = [
  { text: '$0.0001204', x: 24, y: 272, opacity: 1 },
  { text: '$0.01', x: 150, y: 246, opacity: 0.8 },
  { text: '$0.000042', x: 212, y: 275, opacity: 0.9 },
  { text: '$0.0015', x: 84, y: 218, opacity: 0.55 },
  { text: '$0.000000009', x: 196, y: 214, opacity: 0.4 },
] as const;

/** One sentence on the health of all endpoints; one that was never configured is not an outage. */
function StatusLine({ endpoints }: { endpoints: readonly EndpointItem[] }) {
  const { t } = useTranslation();
  const served = endpoints.filter((endpoint) => endpoint.unavailable === null);
  const trouble = served.filter((endpoint) => endpoint.status !== 'up');
  const worst = trouble.some((endpoint) => endpoint.status === 'down') ? 'bad' : 'warn';
  return (
    <p className="inline-flex items-center gap-2 rounded-md border border-line bg-surface px-3 py-1.5 text-sm">
      <Dot tone={trouble.length > 0 ? worst : 'good'} label={t('public.statusTitle')} />
      {trouble.length > 0 ? (
        <>
          {t('public.someDown')}:{' '}
          <span className="font-mono">{trouble.map((endpoint) => endpoint.endpoint).join(', ')}</span>
        </>
      ) : (
        t('public.allUp')
      )}
    </p>
  );
}
