import { useApi } from '../../lib/api.ts';
import { useSession } from '../../lib/session.ts';
import { useTitle } from '../../lib/title.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { PublicShell } from '../../shell/PublicShell.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { Loaded, SkeletonRows } from '../../ui/States.tsx';
import { GateFigure } from './GateFigure.tsx';
import { PriceList } from './PriceList.tsx';
import { Sample } from './Sample.tsx';
import { StatusLine } from './StatusLine.tsx';

const PROMISES = [
  { title: 'exactTitle', text: 'exact' },
  { title: 'explainedTitle', text: 'explained' },
  { title: 'homeTitle', text: 'home' },
] as const;

/** What this server offers, at what price, and whether it works right now. */
export default function PublicPage() {
  const { t } = useTranslation();
  useTitle(undefined);
  const models = useApi('GET /api/console/models', undefined, { staleTime: 30_000 });
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
        <h1 className="max-w-[17ch] text-2xl font-semibold tracking-[-0.022em] text-balance sm:text-3xl lg:text-[3.25rem] lg:leading-[1.06]">
          {t('public.title')}
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
