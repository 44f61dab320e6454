import CircleCheck from 'lucide-react/icons/circle-check';
import type { AdminOverview, AdminAttention } from '../../../lib/answers.ts';
import type { Bar, Series } from '../../../charts/StackedBars.tsx';
import { UsageChart } from '../../../charts/UsageChart.tsx';
import { classes } from '../../../lib/classes.ts';
import { useApi } from '../../../lib/api.ts';
import { approximate, formatUsd, formatUsdTick } from '../../../lib/money.ts';
import { useUser } from '../../../lib/session.ts';
import { formatUtcDay, useNow } from '../../../lib/time.ts';
import { formatCompactTick, formatCount } from '../../../lib/numbers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { operatorNav } from '../../../shell/navigation.ts';
import { Dot } from '../../../ui/Badge.tsx';
import { Page, Card } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Loaded, Skeleton } from '../../../ui/States.tsx';
import { sayAttention } from './attentionText.ts';
import { BackendFigures } from './BackendFigures.tsx';
import { Figures } from './Figures.tsx';
import { TopAccounts, TopModels } from './Tops.tsx';

type AdminDay = AdminOverview['days'][number];
type Money = NonNullable<AdminOverview['money']>;

const REFRESH_MS = 15_000;
const CHART_HEIGHT = 120;

export default function AdminOverviewPage() {
  const { t } = useTranslation();
  const overview = useApi('GET /api/console/admin/overview', undefined, { refetchInterval: REFRESH_MS });
  return (
    <Page wide title={t('adminOverview.title')} lead={t('adminOverview.lead')}>
      <Attention />
      <Loaded query={overview} skeleton={<Skeleton className="h-[32rem] w-full rounded-lg" />}>
        {(data) => (
          <>
            <Figures data={data} />
            <div className={classes('grid gap-5', data.money !== null && 'lg:grid-cols-2')}>
              {data.money ? <MoneyChart days={data.money.days} /> : null}
              <TrafficChart days={data.days} />
            </div>
            <BackendFigures backends={data.backends} sample={data.sample} />
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
  const pages = operatorNav(useUser().rights).flatMap(({ items: shown }) => shown.map(({ href }) => href));
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
              {pages.some((page) => page !== '/admin' && href.startsWith(page)) ? (
                <Link href={href} className="shrink-0 text-sm font-medium text-accent hover:underline">
                  {t(`attention.links.${link}`)}
                </Link>
              ) : null}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function MoneyChart({ days }: { days: Money['days'] }) {
  const { t, i18n } = useTranslation();
  const all: Series[] = [
    { id: 'revenue', label: t('cockpit.revenue'), colour: 1 },
    { id: 'cost', label: t('cockpit.cost'), colour: 5 },
    { id: 'margin', label: t('cockpit.margin'), colour: 4 },
  ];
  const points = days.map((day): Bar => {
    const amounts = { revenue: day.revenueUsd, cost: day.costUsd, margin: day.marginUsd };
    return {
      id: day.day,
      label: formatUtcDay(day.day, i18n.language),
      longLabel: formatUtcDay(day.day, i18n.language, 'long'),
      total: '',
      parts: Object.entries(amounts).flatMap(([series, amount]) =>
        amount === null
          ? []
          : [{ series, value: approximate(amount), text: formatUsd(amount, i18n.language) }],
      ),
    };
  });
  const series = all.filter(({ id }) => points.some(({ parts }) => parts.some((part) => part.series === id)));
  return (
    <Card title={t('cockpit.chart')}>
      <UsageChart
        lines
        height={CHART_HEIGHT}
        label={t('cockpit.chart')}
        series={series}
        bars={points}
        formatTick={(value, step) => formatUsdTick(value, step, i18n.language)}
      />
    </Card>
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
        height={CHART_HEIGHT}
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
