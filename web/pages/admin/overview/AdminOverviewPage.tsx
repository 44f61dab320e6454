import CircleCheck from 'lucide-react/icons/circle-check';
import type { ReactNode } from 'react';
import type { AdminOverview, AdminAttention } from '../../../lib/answers.ts';
import { Sparkline } from '../../../charts/SmallLines.tsx';
import type { Bar } from '../../../charts/StackedBars.tsx';
import { UsageChart } from '../../../charts/UsageChart.tsx';
import { useApi } from '../../../lib/api.ts';
import { approximate, formatUsd } from '../../../lib/money.ts';
import { formatUtcDay, useNow } from '../../../lib/time.ts';
import { formatPercent, formatCompactTick, formatCount } from '../../../lib/numbers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Dot } from '../../../ui/Badge.tsx';
import { Page, Card } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Count } from '../../../ui/Numbers.tsx';
import { Loaded, Skeleton } from '../../../ui/States.tsx';
import { sayAttention } from './attentionText.ts';
import { BackendFigures } from './BackendFigures.tsx';
import { MoneyCard } from './MoneyCard.tsx';
import { TopAccounts, TopModels } from './Tops.tsx';

type AdminDay = AdminOverview['days'][number];

const REFRESH_MS = 15_000;

export default function AdminOverviewPage() {
  const { t } = useTranslation();
  const overview = useApi('GET /api/console/admin/overview', undefined, { refetchInterval: REFRESH_MS });
  return (
    <Page wide title={t('adminOverview.title')} lead={t('adminOverview.lead')}>
      <Attention />
      <Loaded query={overview} skeleton={<Skeleton className="h-[32rem] w-full rounded-lg" />}>
        {(data) => (
          <>
            <MoneyCard money={data.money} />
            <Figures data={data} />
            <BackendFigures backends={data.backends} sample={data.sample} />
            <TrafficChart days={data.days} />
            <div className="grid items-start gap-5 lg:grid-cols-2">
              <TopModels rows={data.topModels} />
              <TopAccounts rows={data.topAccounts} />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** What needs attention, each with a link to where it can be fixed. */
function Attention() {
  const { t } = useTranslation();
  const attention = useApi('GET /api/console/admin/attention', undefined, { refetchInterval: REFRESH_MS });
  return (
    <Card flush title={t('attention.title')}>
      <Loaded query={attention} skeleton={<Skeleton className="mx-5 mb-5 h-12" />}>
        {(data) => (data.items.length === 0 ? <NothingWrong /> : <AttentionItems items={data.items} />)}
      </Loaded>
    </Card>
  );
}

function NothingWrong() {
  const { t } = useTranslation();
  return (
    <p className="flex items-center gap-2 px-5 pb-5 text-ink-2">
      <CircleCheck size={18} aria-hidden className="shrink-0 text-accent" />
      {t('attention.none')}
    </p>
  );
}

function AttentionItems({ items }: { items: AdminAttention['items'] }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  return (
    <ul className="divide-y divide-line border-t border-line">
      {items.map((item) => {
        const { text, link, href } = sayAttention(item, { t, language: i18n.language, now });
        return (
          <li key={text} className="flex items-start gap-3 px-5 py-2.5">
            <span className="mt-1 grid shrink-0">
              <Dot tone={item.urgency === 'high' ? 'bad' : 'warn'} label={t(`attention.${item.urgency}`)} />
            </span>
            <div className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-4 gap-y-0.5">
              <span className="min-w-0 flex-1 basis-72 break-words">{text}</span>
              <Link href={href} className="shrink-0 text-sm font-medium text-accent hover:underline">
                {t(`attention.links.${link}`)}
              </Link>
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function Figures({ data }: { data: AdminOverview }) {
  const { t, i18n } = useTranslation();
  const today = data.days.at(-1);
  const rate = today && today.requests > 0 ? today.failures / today.requests : undefined;
  return (
    <dl className="grid gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-3">
      <Figure
        label={t('cockpit.requestsToday')}
        value={<Count value={today?.requests ?? 0} />}
        note={
          rate === undefined ? '' : `${t('adminOverview.failureRate')} ${formatPercent(rate, i18n.language)}`
        }
        chart={
          <Sparkline
            values={data.days.map((day) => day.requests)}
            label={t('cockpit.requestsChart')}
            height={32}
          />
        }
      />
      <Figure
        label={t('adminOverview.balances')}
        value={<Money usd={data.accounts.balanceUsd} />}
        note={t('adminOverview.onHold', { amount: formatUsd(data.accounts.heldUsd, i18n.language) })}
        extra={
          <>
            {t('cockpit.accounts', { count: data.accounts.total })}
            {data.accounts.disabled > 0
              ? `, ${t('adminOverview.disabled', { count: data.accounts.disabled })}`
              : ''}
          </>
        }
      />
      <Figure
        label={t('adminOverview.open')}
        value={<Count value={data.openRequests} />}
        note={`${t('adminOverview.overrun')}: ${formatUsd(data.overrunUsd, i18n.language)}`}
        extra={
          approximate(data.overrunUsd) > 0 ? (
            <span className="text-bad">{t('adminOverview.overrunHint')}</span>
          ) : null
        }
      />
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly note: string;
  readonly extra?: ReactNode;
  readonly chart?: ReactNode;
}

function Figure({ label, value, note, extra, chart }: FigureProps) {
  return (
    <div className="flex min-w-0 flex-col bg-surface px-4 py-4 sm:px-5">
      <dt className="text-sm text-ink-3">{label}</dt>
      <dd className="mt-0.5 truncate text-xl font-semibold tracking-tight">{value}</dd>
      <dd className="text-sm text-ink-3 tabular-nums">{note}</dd>
      {extra ? <dd className="text-sm text-ink-3">{extra}</dd> : null}
      {chart ? <dd className="mt-auto pt-3">{chart}</dd> : null}
    </div>
  );
}

function TrafficChart({ days }: { days: readonly AdminDay[] }) {
  const { t, i18n } = useTranslation();
  const count = (value: number): string => formatCount(value, i18n.language);
  const bars = days.map((day): Bar => {
    const parts = [
      { series: 'requests', value: day.requests - day.failures },
      { series: 'failures', value: day.failures },
    ].filter((part) => part.value > 0);
    return {
      id: day.day,
      label: formatUtcDay(day.day, i18n.language),
      longLabel: formatUtcDay(day.day, i18n.language, 'long'),
      total: count(day.requests),
      parts: parts.map((part) => ({ ...part, text: count(part.value) })),
    };
  });
  return (
    <Card title={t('cockpit.requestsChart')}>
      <UsageChart
        label={t('cockpit.requestsChart')}
        series={[
          { id: 'requests', label: t('adminOverview.requests'), colour: 1 },
          { id: 'failures', label: t('adminOverview.failures'), colour: 5 },
        ]}
        bars={bars}
        formatTick={(value, step) => formatCompactTick(value, step, i18n.language)}
      />
    </Card>
  );
}
