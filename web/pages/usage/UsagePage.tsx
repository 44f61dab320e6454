import Download from 'lucide-react/icons/download';
import { memo, Suspense, useCallback, useDeferredValue, useMemo } from 'react';
import { useLocation } from 'wouter';
import type { UsageReport, UsageSaved } from '../../lib/answers.ts';
import { chosenBars, daysBetween, usageBars } from '../../charts/usageBars.ts';
import { UsageChart } from '../../charts/UsageChart.tsx';
import { urlOf, useApi } from '../../lib/api.ts';
import { later } from '../../lib/chunk.ts';
import { loadTexts } from '../../lib/i18n.ts';
import { formatUsdTick, approximate } from '../../lib/money.ts';
import { formatUtcDay, shiftDay, useToday } from '../../lib/time.ts';
import { formatCompactTick, formatCount, formatPercent } from '../../lib/numbers.ts';
import { hrefWith, oneOf, useSearchState, type ChangeSearch, type SearchState } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Money } from '../../ui/Money.tsx';
import { Count } from '../../ui/Numbers.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { DayRangeField } from '../../ui/TableFilters.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/States.tsx';
import {
  GROUPINGS,
  groupingOf,
  stackedBy,
  type GroupBy,
  measureOf,
  MEASURES,
  useMeasureText,
  type Measure,
} from './choices.ts';
import { HeatMap } from './HeatMap.tsx';
import { MissingNote, UsageTable } from './UsageTable.tsx';

const VIEWS = ['chart', 'table'] as const;

export default function UsagePage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const range = rangeOf(state, useToday());
  const measure = oneOf(state['measure'], MEASURES);
  const by = oneOf(state['by'], GROUPINGS);
  const query = { ...range, by, zone: OWN_ZONE };
  const usage = useApi('GET /api/console/usage', { query: { ...query, measure } }, { keepsPrevious: true });
  // Fetched at the same time as the usage, not after it.
  useHours(range);
  const drawing = useDrawing(state);
  return (
    <Page
      wide
      title={t('usage.title')}
      lead={t('usage.lead')}
      actions={
        <a
          href={urlOf('GET /api/console/usage.csv', { query })}
          download
          className="inline-flex h-8 items-center gap-2 rounded-md border border-line bg-surface px-3 text-sm font-medium hover:bg-hover"
        >
          <Download size={14} aria-hidden />
          {t('requests.export')}
        </a>
      }
    >
      <div className="flex">
        <DayRangeField
          range={range}
          today={useToday()}
          change={(next) => change({ ...next, days: undefined })}
        />
      </div>
      <Loaded query={usage} skeleton={<Skeleton className="h-80 w-full rounded-lg" />}>
        {(data) => (data.rows.length === 0 ? <NoUsage /> : <Report {...{ data, range, drawing, change }} />)}
      </Loaded>
      <Suspense fallback={<Skeleton className="h-24 w-full rounded-lg" />}>
        <TagUsage wallet="own" range={range} />
      </Suspense>
    </Page>
  );
}

/** Few have tags: what shows them is loaded after the page. */
const TagUsage = later(async () => (await Promise.all([import('./TagUsage.tsx'), loadTexts('team')]))[0]);

const RANGE_DAYS = ['7', '30', '90'] as const;
const USUAL_DAYS = '30';

/** The days in the address, or the last thirty. */
function rangeOf(state: SearchState, today: string): { from: string; to: string } {
  const to = state['to'] ?? today;
  const days = Number(RANGE_DAYS.find((preset) => preset === state['days']) ?? USUAL_DAYS);
  return { from: state['from'] ?? shiftDay(to, 1 - days), to };
}

/** How the figures are drawn, without the range of days, whose figures redraw themselves when they have come. */
function useDrawing(state: SearchState): SearchState {
  const { days: _days, from: _from, to: _to, ...drawing } = state;
  const text = useDeferredValue(JSON.stringify(drawing));
  return useMemo(() => JSON.parse(text) as SearchState, [text]);
}

function NoUsage() {
  const { t } = useTranslation();
  return (
    <Card>
      <Empty
        title={t('usage.empty')}
        action={<LinkButton href="/app/playground">{t('nav.playground')}</LinkButton>}
      >
        {t('usage.emptyLead')}
      </Empty>
    </Card>
  );
}

type Range = ReturnType<typeof rangeOf>;

interface DrawnProps {
  readonly drawing: SearchState;
  readonly change: ChangeSearch;
}

interface ReportProps extends DrawnProps {
  readonly data: UsageReport;
  readonly range: Range;
}

function Report({ data, range, drawing, change }: ReportProps) {
  const measure = oneOf(drawing['measure'], MEASURES);
  const by = groupingOf(data, oneOf(drawing['by'], GROUPINGS));
  return (
    <>
      <MeasuredChart usage={data} {...{ measure, by, drawing, change }} />
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <Hours {...{ range, measure, drawing, change }} />
        <div className="flex flex-col gap-5">
          <Totals usage={data} />
          <CacheSavings usage={data} />
        </div>
      </div>
      <UsageTable usage={data} {...{ by, drawing, change }} />
    </>
  );
}

/** The range at a glance. */
function Totals({ usage: { totals } }: { usage: UsageReport }) {
  const { t } = useTranslation();
  return (
    <Card title={t('usage.total')}>
      <p className="text-2xl font-semibold tracking-tight">
        <Money usd={totals.chargedUsd} />
      </p>
      <dl className="mt-3 flex flex-col gap-1.5">
        <LedgerLine label={t('usage.requests')} value={<Count value={totals.requests} />} />
        <LedgerLine label={t('usage.failures')} value={<Count value={totals.failures} />} />
        <LedgerLine
          label={t('usage.tokens')}
          value={<Count value={totals.inputTokens + totals.outputTokens} />}
        />
        {totals.images > 0 ? (
          <LedgerLine label={t('usage.images')} value={<Count value={totals.images} />} />
        ) : null}
      </dl>
    </Card>
  );
}

/** What cached input saved, compared with the price of plain input. */
function CacheSavings({ usage: { totals, missing } }: { usage: UsageReport }) {
  const { t } = useTranslation();
  return (
    <Card title={t('usage.savings.title')}>
      {totals.cachedTokens === 0 ? (
        <p className="text-ink-2">{t('usage.savings.none')}</p>
      ) : (
        <>
          <Saved totals={totals} />
          <MissingNote missing={missing} />
        </>
      )}
    </Card>
  );
}

function Saved({ totals }: { totals: UsageSaved }) {
  const { t, i18n } = useTranslation();
  const { cachedTokens, inputTokens, savedUsd } = totals;
  return (
    <>
      <p className="text-2xl font-semibold tracking-tight" data-testid="saved">
        <Money usd={savedUsd} />
      </p>
      <p className="mt-2 text-ink-2">
        {t('usage.savings.share', {
          cached: formatCount(cachedTokens, i18n.language),
          input: formatCount(inputTokens, i18n.language),
          share: formatPercent(cachedTokens / Math.max(inputTokens, 1), i18n.language),
        })}
        {approximate(savedUsd) === 0 ? ` ${t('usage.savings.same')}` : ''}
      </p>
    </>
  );
}

function useHours(range: Range) {
  return useApi(
    'GET /api/console/usage/hours',
    { query: { ...range, zone: OWN_ZONE } },
    { keepsPrevious: true },
  );
}

interface MeasuredProps extends DrawnProps {
  readonly measure: Measure;
}

function Hours({ range, measure, drawing, change }: MeasuredProps & { readonly range: Range }) {
  const hours = useHours(range);
  const onView = useCallback(
    (view: (typeof VIEWS)[number]) => change({ hours: view === 'chart' ? undefined : view }),
    [change],
  );
  return (
    <Loaded query={hours} skeleton={<Skeleton className="h-72 w-full rounded-lg" />}>
      {(map) => (
        <HeatMap
          map={map}
          measure={measure}
          zone={OWN_ZONE}
          view={oneOf(drawing['hours'], VIEWS)}
          onView={onView}
        />
      )}
    </Loaded>
  );
}

const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

interface ChartProps extends MeasuredProps {
  readonly usage: UsageReport;
  readonly by: GroupBy;
}

const MeasuredChart = memo(function MeasuredChart({ usage, measure, by, drawing, change }: ChartProps) {
  const { t, i18n } = useTranslation();
  const [, navigate] = useLocation();
  const format = useMeasureText(measure);
  const stacked = stackedBy(by);
  const drawn = usageBars(usage.rows, {
    days: daysBetween(usage.from, usage.to),
    measure: { value: measureOf(measure), format },
    otherLabel: t(`usage.others.${stacked}`),
    emptyLabel: t('usage.unnamed'),
    dayLabel: (day, style) => formatUtcDay(day, i18n.language, style),
  });
  const label = t(`usage.chart.${stacked}`, { measure: t(`usage.${measure}`) });
  return (
    <Card
      title={label}
      actions={
        <Segments
          label={t('usage.measure')}
          value={measure}
          onChange={(next) => change({ measure: next })}
          options={MEASURES.map((value) => ({ value, label: t(`usage.${value}`) }))}
        />
      }
    >
      <UsageChart
        label={label}
        series={drawn.series}
        bars={chosenBars(drawn, drawing['series'])}
        choice={{ chosen: drawing['series'], onChoose: (series) => change({ series }) }}
        formatTick={(value, step) =>
          measure === 'spend'
            ? formatUsdTick(value, step, i18n.language)
            : formatCompactTick(value, step, i18n.language)
        }
        onOpen={(bar) => navigate(hrefWith('/app/requests', { from: bar.id, to: bar.id, zone: 'utc' }))}
      />
    </Card>
  );
});
