import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AdminDay } from '../../../../src/console/contract.ts';
import type { Bar, Series } from '../../../charts/StackedBars.tsx';
import { UsageChart } from '../../../charts/UsageChart.tsx';
import { approximate, formatUsd, formatUsdTick } from '../../../lib/money.ts';
import { formatCompactTick, formatCount } from '../../../lib/numbers.ts';
import { formatUtcDay } from '../../../lib/time.ts';
import { Card } from '../../../ui/Card.tsx';
import { Segments } from '../../../ui/Segments.tsx';

type Measure = 'requests' | 'spend';

/** Requests with their failures, or what was charged, day by day. */
export function TrafficChart({ days }: { days: readonly AdminDay[] }) {
  const { t, i18n } = useTranslation();
  const [measure, setMeasure] = useState<Measure>('requests');
  const series: Series[] =
    measure === 'spend'
      ? [{ id: 'spend', label: t('adminOverview.spend'), colour: 1 }]
      : [
          { id: 'requests', label: t('adminOverview.requests'), colour: 1 },
          { id: 'failures', label: t('adminOverview.failures'), colour: 5 },
        ];
  const usd = (value: number): string => formatUsd(value.toFixed(9), i18n.language);
  const bars = days.map((day): Bar => {
    const label = {
      id: day.day,
      label: formatUtcDay(day.day, i18n.language),
      longLabel: formatUtcDay(day.day, i18n.language, 'long'),
    };
    if (measure === 'spend') {
      const value = approximate(day.chargedUsd);
      return {
        ...label,
        total: usd(value),
        parts: value > 0 ? [{ series: 'spend', value, text: usd(value) }] : [],
      };
    }
    const parts = [
      { series: 'requests', value: day.requests - day.failures },
      { series: 'failures', value: day.failures },
    ].filter((part) => part.value > 0);
    const count = (value: number): string => formatCount(value, i18n.language);
    return {
      ...label,
      total: count(day.requests),
      parts: parts.map((part) => ({ ...part, text: count(part.value) })),
    };
  });
  return (
    <Card
      title={t('adminOverview.chart')}
      actions={
        <Segments
          label={t('usage.measure')}
          value={measure}
          onChange={setMeasure}
          options={[
            { value: 'requests', label: t('adminOverview.requests') },
            { value: 'spend', label: t('adminOverview.spend') },
          ]}
        />
      }
    >
      <UsageChart
        label={t('adminOverview.chart')}
        series={series}
        bars={bars}
        formatTick={(value, step) =>
          measure === 'spend'
            ? formatUsdTick(value, step, i18n.language)
            : formatCompactTick(value, step, i18n.language)
        }
      />
    </Card>
  );
}
