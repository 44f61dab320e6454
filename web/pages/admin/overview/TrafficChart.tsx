import type { AdminDay } from '../../../../src/console/contract.ts';
import type { Bar } from '../../../charts/StackedBars.tsx';
import { UsageChart } from '../../../charts/UsageChart.tsx';
import { formatCompactTick, formatCount } from '../../../lib/numbers.ts';
import { formatUtcDay } from '../../../lib/time.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Card } from '../../../ui/Card.tsx';

/** Requests with their failures, day by day. */
export function TrafficChart({ days }: { days: readonly AdminDay[] }) {
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
