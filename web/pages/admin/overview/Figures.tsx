import type { TFunction } from 'i18next';
import { useState, type ReactNode } from 'react';
import type { AdminOverview } from '../../../lib/answers.ts';
import { approximate, formatUsd, shownUsd } from '../../../lib/money.ts';
import { formatChange, formatCount, formatPercent } from '../../../lib/numbers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Count } from '../../../ui/Numbers.tsx';
import { Segments } from '../../../ui/Segments.tsx';

type Period = NonNullable<AdminOverview['money']>['periods'][number];
type Sums = Period['now'];

/** A smaller change would be shown as 0 %. */
const LEAST_CHANGE = 0.0005;
const PERIODS = ['1', '7', '30'] as const;

/** The figures of a period in one row, each beside that of the period before, and what the margin leaves out. */
export function Figures({ data }: { data: AdminOverview }) {
  const { t } = useTranslation();
  const [days, setDays] = useState<(typeof PERIODS)[number]>('7');
  const period = data.money?.periods.find((one) => String(one.days) === days);
  // What comes in and what it costs is not for every role.
  if (!period)
    return (
      <dl className="grid overflow-hidden rounded-lg border border-line sm:w-80">
        <Balances accounts={data.accounts} />
      </dl>
    );
  return (
    <section aria-label={t('cockpit.figures')} className="flex flex-col gap-3">
      <Segments
        label={t('cockpit.period')}
        value={days}
        onChange={setDays}
        options={PERIODS.map((value) => ({ value, label: periodName(value, t) }))}
      />
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line lg:grid-cols-5">
        <Amount label={t('cockpit.revenue')} period={period} of={(sums) => sums.revenueUsd} />
        <Amount label={t('cockpit.cost')} period={period} of={(sums) => sums.costUsd} />
        <Amount label={t('cockpit.margin')} period={period} of={(sums) => sums.marginUsd} />
        <Requests period={period} running={data.openRequests} />
        <Balances accounts={data.accounts} />
      </dl>
      <LeftOut sums={period.now} overrunUsd={data.overrunUsd ?? '0'} />
    </section>
  );
}

function periodName(days: (typeof PERIODS)[number], t: TFunction): string {
  if (days === '1') return t('common.today');
  return days === '7' ? t('common.days7') : t('common.days30');
}

interface AmountProps {
  readonly label: string;
  readonly period: Period;
  readonly of: (sums: Sums) => string | null;
}

function Amount({ label, period, of }: AmountProps) {
  const { t, i18n } = useTranslation();
  const [now, before] = [of(period.now), of(period.before)];
  const isCompared = now !== null && before !== null;
  return (
    <Figure
      label={label}
      value={
        now === null ? (
          <span className="text-ink-3">{period.now.requests === 0 ? '–' : t('cockpit.unknown')}</span>
        ) : (
          <Money usd={now} plain className={approximate(now) < 0 ? 'text-bad' : ''} />
        )
      }
      note={
        isCompared
          ? comparison(t, {
              days: period.days,
              change: changeOf(period.days, [approximate(now), approximate(before)], i18n.language),
              text: formatUsd(before, i18n.language),
            })
          : ''
      }
    />
  );
}

function Requests({ period, running }: { period: Period; running: number }) {
  const { t, i18n } = useTranslation();
  const { days, now, before } = period;
  const change = changeOf(days, [now.requests, before.requests], i18n.language);
  const rate = now.requests > 0 ? formatPercent(now.failures / now.requests, i18n.language) : undefined;
  return (
    <Figure
      label={t('adminOverview.requests')}
      value={<Count value={now.requests} />}
      note={comparison(t, { days, change, text: formatCount(before.requests, i18n.language) })}
      extra={[
        ...(rate === undefined ? [] : [t('cockpit.failed', { rate })]),
        ...(running === 0 ? [] : [t('cockpit.running', { requests: running })]),
      ].join(', ')}
    />
  );
}

function Balances({ accounts }: Pick<AdminOverview, 'accounts'>) {
  const { t, i18n } = useTranslation();
  return (
    <Figure
      label={t('adminOverview.balances')}
      value={<Money usd={accounts.balanceUsd} />}
      note={t('adminOverview.onHold', { amount: formatUsd(accounts.heldUsd, i18n.language) })}
      extra={[
        t('cockpit.accounts', { count: accounts.total }),
        ...(accounts.disabled > 0 ? [t('adminOverview.disabled', { count: accounts.disabled })] : []),
      ].join(', ')}
    />
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly note: string;
  readonly extra?: string;
}

function Figure({ label, value, note, extra }: FigureProps) {
  return (
    <div className="min-w-0 bg-surface px-4 py-3 last:max-lg:col-span-2 sm:px-5">
      <dt className="text-sm text-ink-3">{label}</dt>
      <dd className="mt-0.5 truncate text-xl font-semibold tracking-tight">{value}</dd>
      <dd className="text-sm text-balance text-ink-3 tabular-nums">{note}</dd>
      {extra ? <dd className="text-sm text-ink-3">{extra}</dd> : null}
    </div>
  );
}

/** Today is not over, so it is not compared in percent with a whole day. */
function changeOf(
  days: Period['days'],
  [now, before]: readonly [number, number],
  language: string,
): string | undefined {
  const change = now / before - 1;
  return days > 1 && before > 0 && Math.abs(change) >= LEAST_CHANGE
    ? formatChange(change, language)
    : undefined;
}

interface Comparison {
  readonly days: Period['days'];
  readonly change: string | undefined;
  readonly text: string;
}

function comparison(t: TFunction, { days, change, text }: Comparison): string {
  const before =
    days === 1 ? t('cockpit.yesterday', { amount: text }) : t('cockpit.before', { amount: text, days });
  return change === undefined ? before : `${change} ${before}`;
}

/** Revenue less cost is the margin only if every cost is known and no attempt failed: what stands between them. */
function LeftOut({ sums, overrunUsd }: { sums: Sums; overrunUsd: string }) {
  const { t, i18n } = useTranslation();
  const said = (key: 'unknownCost' | 'possibleCost' | 'beyondHolds', usd: string): string[] =>
    approximate(shownUsd(usd)) > 0 ? [t(`cockpit.${key}`, { amount: formatUsd(usd, i18n.language) })] : [];
  const unknown = said('unknownCost', sums.unknownUsd);
  const all = [
    ...unknown,
    ...said('possibleCost', sums.possibleUsd),
    ...said('beyondHolds', overrunUsd),
  ].join(' ');
  if (all === '') return null;
  return (
    <p className="text-sm text-ink-3">
      {all}{' '}
      {unknown.length > 0 ? (
        <Link href="/admin/margin?by=model" className="font-medium text-accent hover:underline">
          {t('cockpit.showModels')}
        </Link>
      ) : null}
    </p>
  );
}
