import type { Overview } from '../../../src/console/contract.ts';
import { BalanceLine } from '../../charts/BalanceLine.tsx';
import { approximate } from '../../lib/money.ts';
import { useNow } from '../../lib/now.ts';
import { formatDate } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';

const DAY_MS = 86_400_000;

/** How the balance went, and how long it lasts at the pace of the last week. */
export function BalanceForecast({ overview }: { overview: Overview }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const { balanceDays, forecast, automaticTopUp } = overview;
  const until = forecast.kind === 'until' ? forecast.at : undefined;
  const text = t(`forecast.${forecast.kind}`, {
    date: until === undefined ? '' : formatDate(until, now, i18n.language),
  });
  // A line of nothing says nothing.
  const hasLine = balanceDays.some(({ balanceUsd }) => approximate(balanceUsd) > 0) && balanceDays.length > 1;
  if (!hasLine && forecast.kind !== 'until') return null;
  return (
    <div className="flex flex-col gap-2 text-sm">
      {hasLine ? (
        <BalanceLine
          values={balanceDays.map(({ balanceUsd }) => approximate(balanceUsd))}
          daysLeft={until === undefined || automaticTopUp ? undefined : Math.max(0, (until - now) / DAY_MS)}
          label={t('forecast.line', { count: balanceDays.length })}
        />
      ) : null}
      <p className="text-ink-2">{automaticTopUp ? t('forecast.automatic') : text}</p>
    </div>
  );
}
