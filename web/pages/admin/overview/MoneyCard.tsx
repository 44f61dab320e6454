import type { TFunction } from 'i18next';
import type { AdminOverview } from '../../../lib/answers.ts';
import type { Bar, Series } from '../../../charts/StackedBars.tsx';
import { UsageChart } from '../../../charts/UsageChart.tsx';
import { approximate, formatUsd, formatUsdTick } from '../../../lib/money.ts';
import { formatChange } from '../../../lib/numbers.ts';
import { formatUtcDay } from '../../../lib/time.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';

type AdminMoney = AdminOverview['money'];
type AdminMoneyPeriod = AdminMoney['periods'][number];
type AdminMoneySums = AdminMoneyPeriod['now'];

const FIGURES = ['revenue', 'cost', 'margin'] as const;
type Figure = (typeof FIGURES)[number];

/** Revenue and cost of requests: today, in 7 and in 30 days, and day by day. */
export function MoneyCard({ money }: { money: AdminMoney }) {
  const { t, i18n } = useTranslation();
  const unknown = money.periods.at(-1)?.now.unknownUsd ?? '0';
  return (
    <Card title={t('cockpit.money')} hint={t('cockpit.moneyHint')}>
      <Periods periods={money.periods} />
      {approximate(unknown) > 0 ? (
        <p className="mt-3 text-sm text-ink-3">
          {t('cockpit.unknownCost', { amount: formatUsd(unknown, i18n.language) })}{' '}
          <Link href="/admin/margin?by=model" className="font-medium text-accent hover:underline">
            {t('cockpit.showModels')}
          </Link>
        </p>
      ) : null}
      <div className="mt-5">
        <DaysChart days={money.days} />
      </div>
    </Card>
  );
}

function Periods({ periods }: { periods: readonly AdminMoneyPeriod[] }) {
  const { t } = useTranslation();
  return (
    <table className="w-full table-fixed border-collapse">
      <caption className="sr-only">{t('cockpit.money')}</caption>
      <thead>
        <tr className="text-left text-sm text-ink-3">
          <th scope="col" className="w-1/5 pr-3 pb-1 font-normal">
            <span className="sr-only">{t('cockpit.period')}</span>
          </th>
          {periods.map(({ days }) => (
            <th key={days} scope="col" className="pr-3 pb-1 font-normal last:pr-0">
              {periodName(days, t)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {FIGURES.map((figure) => (
          <tr key={figure} className="border-t border-line align-top">
            <th scope="row" className="py-2 pr-3 text-left text-sm font-normal text-ink-2">
              {t(`cockpit.${figure}`)}
            </th>
            {periods.map((period) => (
              <td key={period.days} className="py-2 pr-3 last:pr-0">
                <Amount figure={figure} period={period} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Amount({ figure, period }: { figure: Figure; period: AdminMoneyPeriod }) {
  const { t } = useTranslation();
  const now = amountOf(period.now, figure);
  const before = amountOf(period.before, figure);
  if (now === null) return <span className="text-ink-3">{t('cockpit.unknown')}</span>;
  return (
    <>
      <Money
        usd={now}
        plain
        className={`text-base font-semibold sm:text-lg ${approximate(now) < 0 ? 'text-bad' : ''}`}
      />
      {before === null ? null : <Change now={now} before={before} days={period.days} />}
    </>
  );
}

/** Today is not over, so it is not compared in percent with a whole day. */
function Change({ now, before, days }: { now: string; before: string; days: number }) {
  const { t, i18n } = useTranslation();
  const amount = formatUsd(before, i18n.language);
  const isCompared = days > 1 && approximate(before) > 0;
  return (
    <span className="block text-xs text-ink-3 tabular-nums sm:text-sm">
      {isCompared ? (
        <>
          <span>{formatChange(approximate(now) / approximate(before) - 1, i18n.language)}</span>
          {/* On a phone there is no room for it. */}
          <span className="hidden sm:inline">, {t('cockpit.before', { amount })}</span>
        </>
      ) : (
        t(days === 1 ? 'cockpit.yesterday' : 'cockpit.before', { amount })
      )}
    </span>
  );
}

function periodName(days: AdminMoneyPeriod['days'], t: TFunction): string {
  if (days === 1) return t('common.today');
  return days === 7 ? t('common.days7') : t('common.days30');
}

function amountOf(sums: AdminMoneySums, figure: Figure): string | null {
  switch (figure) {
    case 'revenue':
      return sums.revenueUsd;
    case 'cost':
      return sums.costUsd;
    case 'margin':
      return sums.marginUsd;
    default:
      return figure satisfies never;
  }
}

function DaysChart({ days }: { days: AdminMoney['days'] }) {
  const { t, i18n } = useTranslation();
  const all: Series[] = [
    { id: 'revenue', label: t('cockpit.revenue'), colour: 1 },
    { id: 'cost', label: t('cockpit.cost'), colour: 5 },
    { id: 'margin', label: t('cockpit.margin'), colour: 4 },
  ];
  const points = days.map((day): Bar => ({
    id: day.day,
    label: formatUtcDay(day.day, i18n.language),
    longLabel: formatUtcDay(day.day, i18n.language, 'long'),
    total: '',
    parts: FIGURES.flatMap((figure) => {
      const amount = amountOf(day, figure);
      if (amount === null) return [];
      return [{ series: figure, value: approximate(amount), text: formatUsd(amount, i18n.language) }];
    }),
  }));
  const series = all.filter(({ id }) => points.some(({ parts }) => parts.some((part) => part.series === id)));
  return (
    <UsageChart
      lines
      label={t('cockpit.chart')}
      series={series}
      bars={points}
      formatTick={(value, step) => formatUsdTick(value, step, i18n.language)}
    />
  );
}
