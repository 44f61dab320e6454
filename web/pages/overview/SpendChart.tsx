import { useLocation } from 'wouter';
import type { UsageChartRow } from '../../../src/console/contract.ts';
import { daysBetween, usageBars } from '../../charts/usageBars.ts';
import { UsageChart } from '../../charts/UsageChart.tsx';
import { approximate, formatUsd, formatUsdTick } from '../../lib/money.ts';
import { hrefWith } from '../../lib/search.ts';
import { useToday } from '../../lib/now.ts';
import { formatUtcDay, shiftDay } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Empty } from '../../ui/States.tsx';

const DAYS = 14;

export function SpendChart({ rows }: { rows: readonly UsageChartRow[] }) {
  const { t, i18n } = useTranslation();
  const [, navigate] = useLocation();
  const today = useToday();
  const usd = (value: number): string => formatUsd(value.toFixed(9), i18n.language);
  const { series, bars } = usageBars(rows, {
    days: daysBetween(shiftDay(today, 1 - DAYS), today),
    measure: { value: (row) => approximate(row.chargedUsd), format: usd },
    otherLabel: t('charts.other'),
    dayLabel: (day, style) => formatUtcDay(day, i18n.language, style),
  });
  return (
    <Card title={t('overview.chart')}>
      {series.length === 0 ? (
        <Empty compact title={t('overview.chartEmpty')}>
          {t('overview.chartEmptyLead')}
        </Empty>
      ) : (
        <UsageChart
          label={t('overview.chart')}
          series={series}
          bars={bars}
          formatTick={(value, step) => formatUsdTick(value, step, i18n.language)}
          onOpen={(bar) => navigate(hrefWith('/app/requests', { from: bar.id, to: bar.id, zone: 'utc' }))}
        />
      )}
    </Card>
  );
}
