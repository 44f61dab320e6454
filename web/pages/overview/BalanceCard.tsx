import type { ReactNode } from 'react';
import type { Overview } from '../../lib/answers.ts';
import { BalanceLine } from '../../charts/SmallLines.tsx';
import { approximate, formatUsd } from '../../lib/money.ts';
import { formatDate, useNow } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Meter, NextLimitLine } from '../../ui/Limits.tsx';
import { Converted, Money } from '../../ui/Money.tsx';
import { Count } from '../../ui/Numbers.tsx';

/** What can be spent, what was spent, and which limit is reached first. */
export function BalanceCard({ overview }: { overview: Overview }) {
  const { spend } = overview;
  return (
    <section className="grid overflow-hidden rounded-lg border border-line bg-surface lg:grid-cols-[1.15fr_1fr]">
      <Available overview={overview} />
      <div className="grid border-line max-lg:border-t lg:border-l">
        <dl className="grid divide-line max-sm:divide-y sm:grid-cols-3 sm:divide-x">
          <Spent of="Today" usd={spend.todayUsd} before={spend.before.todayUsd} />
          <Spent of="Days7" usd={spend.days7Usd} before={spend.before.days7Usd} />
          <Spent of="Days30" usd={spend.days30Usd} before={spend.before.days30Usd} />
        </dl>
        <Limits overview={overview} />
      </div>
    </section>
  );
}

function Available({ overview }: { overview: Overview }) {
  const { t, i18n } = useTranslation();
  const usd = (amount: string): string => formatUsd(amount, i18n.language);
  return (
    <div className="flex flex-col justify-between gap-5 p-5 sm:p-6">
      <div>
        <p className="text-sm text-ink-3">{t('overview.available')}</p>
        <p className="mt-1 text-3xl font-semibold tracking-tight">
          <Money usd={overview.availableUsd} kind="available" />
        </p>
        <p className="mt-1 flex flex-wrap gap-x-3 text-sm text-ink-3">
          <Converted usd={overview.availableUsd} kind="available" />
          <span>
            {t('overview.balance', {
              amount: formatUsd(overview.balanceUsd, i18n.language, { kind: 'available' }),
            })}
          </span>
          <span>
            {overview.openHolds > 0
              ? t('overview.held', { amount: usd(overview.heldUsd), count: overview.openHolds })
              : t('overview.nothingHeld')}
          </span>
        </p>
      </div>
      <BalanceForecast overview={overview} />
      <MonthLimit overview={overview} />
    </div>
  );
}

const DAY_MS = 86_400_000;

/** The balance of the last days, and how long it lasts at the pace of the last week. */
function BalanceForecast({ overview }: { overview: Overview }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const { balanceDays, forecast, automaticTopUp } = overview;
  const until = forecast.kind === 'until' ? forecast.at : undefined;
  const text = t(`forecast.${forecast.kind}`, {
    // A date is not broken into two lines.
    date: until === undefined ? '' : formatDate(until, now, i18n.language).replaceAll(' ', '\u00a0'),
  });
  // A line of zeros would say nothing.
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

function MonthLimit({ overview }: { overview: Overview }) {
  const { t, i18n } = useTranslation();
  const usd = (amount: string): string => formatUsd(amount, i18n.language);
  const { nextLimit, limits } = overview;
  return (
    <div className="text-sm">
      {nextLimit ? (
        <NextLimitLine
          limit={nextLimit}
          isDated={nextLimit.kind !== 'balance' || overview.forecast.kind !== 'until'}
        />
      ) : null}
      {limits.monthlyUsd ? (
        <div className="mt-2">
          <Meter
            share={approximate(limits.monthSpentUsd) / (approximate(limits.monthlyUsd) || 1)}
            label={t('overview.monthUsed', {
              spent: usd(limits.monthSpentUsd),
              limit: usd(limits.monthlyUsd),
            })}
          />
          <p className="mt-1 text-ink-3">
            {t('overview.monthUsed', { spent: usd(limits.monthSpentUsd), limit: usd(limits.monthlyUsd) })}
          </p>
        </div>
      ) : null}
    </div>
  );
}

function Limits({ overview }: { overview: Overview }) {
  const { t } = useTranslation();
  const { limits } = overview;
  return (
    <dl className="grid divide-line border-t border-line max-sm:divide-y sm:grid-cols-3 sm:divide-x">
      <Figure label={t('overview.chatRate')} value={<Rate count={limits.chatPerMinute} />} />
      <Figure label={t('overview.imageRate')} value={<Rate count={limits.imagesPerMinute} />} />
      <Figure
        label={t('overview.concurrent')}
        value={
          <>
            <Count value={overview.openHolds} /> <span className="text-ink-3">/ {limits.concurrent}</span>
          </>
        }
      />
    </dl>
  );
}

function Rate({ count }: { count: number }) {
  return (
    <>
      <Count value={count} /> <span className="text-ink-3">/ min</span>
    </>
  );
}

interface SpentProps {
  readonly of: 'Today' | 'Days7' | 'Days30';
  readonly usd: string;
  /** In the time of the same length before; nothing is said where it is nothing. */
  readonly before: string;
}

function Spent({ of, usd, before }: SpentProps) {
  const { t, i18n } = useTranslation();
  return (
    <Figure
      label={t(`overview.spent${of}`)}
      value={<Money usd={usd} />}
      note={
        approximate(before) > 0
          ? t(of === 'Today' ? 'overview.spentYesterday' : 'overview.spentBefore', {
              amount: formatUsd(before, i18n.language),
            })
          : undefined
      }
    />
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly note?: string | undefined;
}

/** On a phone a line, so that no label wraps. */
function Figure({ label, value, note }: FigureProps) {
  return (
    <div className="flex min-w-0 gap-1 px-5 py-2.5 max-sm:items-baseline sm:flex-col sm:justify-center sm:py-4">
      <dt className="text-sm text-ink-3 max-sm:flex-1">{label}</dt>
      <dd className="truncate text-base font-medium max-sm:order-3 max-sm:min-w-20 max-sm:text-right sm:text-lg">
        {value}
      </dd>
      {note ? <dd className="text-xs text-ink-3">{note}</dd> : null}
    </div>
  );
}
