import { useTranslation } from 'react-i18next';
import Download from 'lucide-react/icons/download';
import { useLocation } from 'wouter';
import type { UsageReport, UsageRow } from '../../../src/console/contract.ts';
import { barsByModel, daysBetween } from '../../charts/byModel.ts';
import { UsageChart } from '../../charts/UsageChart.tsx';
import { urlOf, useApi } from '../../lib/api.ts';
import { approximate, formatUsd, formatUsdTick } from '../../lib/money.ts';
import { formatCompactTick, formatCount } from '../../lib/numbers.ts';
import { hrefWith, oneOf, useSearchState } from '../../lib/search.ts';
import { useToday } from '../../lib/now.ts';
import { formatUtcDay } from '../../lib/time.ts';
import { LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/States.tsx';
import { RangePicker, rangeOf } from './RangePicker.tsx';
import { UsageTable } from './UsageTable.tsx';
import { GROUPINGS, groupingOf } from './group.ts';

const MEASURES = ['spend', 'requests', 'tokens', 'images'] as const;
type Measure = (typeof MEASURES)[number];

const VALUES: Record<Measure, (row: UsageRow) => number> = {
  spend: (row) => approximate(row.chargedUsd),
  requests: (row) => row.requests,
  tokens: (row) => row.inputTokens + row.outputTokens,
  images: (row) => row.images,
};

export default function UsagePage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const range = rangeOf(state, useToday());
  const measure = oneOf(state['measure'], MEASURES);
  const by = oneOf(state['by'], GROUPINGS);
  const usage = useApi(
    'GET /api/console/usage',
    { query: { ...range, by, measure } },
    { keepsPrevious: true },
  );
  return (
    <Page
      wide
      title={t('usage.title')}
      lead={t('usage.lead')}
      actions={
        <a
          href={urlOf('GET /api/console/usage.csv', { query: range })}
          download
          className="inline-flex h-8 items-center gap-2 rounded-md border border-line bg-surface px-3 text-sm font-medium hover:bg-hover"
        >
          <Download size={14} aria-hidden />
          {t('requests.export')}
        </a>
      }
    >
      <RangePicker state={state} change={change} />
      <Loaded query={usage} skeleton={<Skeleton className="h-80 w-full rounded-lg" />}>
        {(data) =>
          data.rows.length === 0 ? (
            <Card>
              <Empty
                title={t('usage.empty')}
                action={<LinkButton href="/app/playground">{t('nav.playground')}</LinkButton>}
              >
                {t('usage.emptyLead')}
              </Empty>
            </Card>
          ) : (
            <>
              <MeasuredChart usage={data} measure={measure} onMeasure={(measure) => change({ measure })} />
              <UsageTable usage={data} by={groupingOf(data)} state={state} change={change} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

interface MeasuredChartProps {
  readonly usage: UsageReport;
  readonly measure: Measure;
  readonly onMeasure: (measure: Measure) => void;
}

function MeasuredChart({ usage, measure, onMeasure }: MeasuredChartProps) {
  const { t, i18n } = useTranslation();
  const [, navigate] = useLocation();
  const format = (value: number): string =>
    measure === 'spend' ? formatUsd(value.toFixed(9), i18n.language) : formatCount(value, i18n.language);
  const { series, bars } = barsByModel(usage.rows, {
    days: daysBetween(usage.from, usage.to),
    measure: { value: VALUES[measure], format },
    otherLabel: t('charts.other'),
    dayLabel: (day, style) => formatUtcDay(day, i18n.language, style),
  });
  const label = t('usage.chart', { measure: t(`usage.${measure}`) });
  return (
    <Card
      title={label}
      actions={
        <Segments
          label={t('usage.measure')}
          value={measure}
          onChange={onMeasure}
          options={MEASURES.map((value) => ({ value, label: t(`usage.${value}`) }))}
        />
      }
    >
      <UsageChart
        label={label}
        series={series}
        bars={bars}
        formatTick={(value, step) =>
          measure === 'spend'
            ? formatUsdTick(value, step, i18n.language)
            : formatCompactTick(value, step, i18n.language)
        }
        onOpen={(bar) => navigate(hrefWith('/app/requests', { from: bar.id, to: bar.id, zone: 'utc' }))}
      />
    </Card>
  );
}
