import type { ReactNode } from 'react';
import type { AdminOverview } from '../../../../src/console/contract.ts';
import { Sparkline } from '../../../charts/Sparkline.tsx';
import { useApi } from '../../../lib/api.ts';
import { approximate, formatUsd } from '../../../lib/money.ts';
import { formatPercent } from '../../../lib/numbers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Page } from '../../../ui/Card.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Count } from '../../../ui/Numbers.tsx';
import { Loaded, Skeleton } from '../../../ui/States.tsx';
import { Attention } from './Attention.tsx';
import { BackendFigures } from './BackendFigures.tsx';
import { MoneyCard } from './MoneyCard.tsx';
import { TopAccounts, TopModels } from './Tops.tsx';
import { TrafficChart } from './TrafficChart.tsx';

const REFRESH_MS = 15_000;

export default function AdminOverviewPage() {
  const { t } = useTranslation();
  const overview = useApi('GET /api/console/admin/overview', undefined, { refetchInterval: REFRESH_MS });
  return (
    <Page wide title={t('adminOverview.title')} lead={t('adminOverview.lead')}>
      <Attention />
      <Loaded query={overview} skeleton={<Skeleton className="h-[32rem] w-full rounded-lg" />}>
        {(data) => (
          <>
            <MoneyCard money={data.money} />
            <Figures data={data} />
            <BackendFigures backends={data.backends} sample={data.sample} />
            <TrafficChart days={data.days} />
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

function Figures({ data }: { data: AdminOverview }) {
  const { t, i18n } = useTranslation();
  const today = data.days.at(-1);
  const rate = today && today.requests > 0 ? today.failures / today.requests : undefined;
  return (
    <dl className="grid gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-3">
      <Figure
        label={t('cockpit.requestsToday')}
        value={<Count value={today?.requests ?? 0} />}
        note={
          rate === undefined ? '' : `${t('adminOverview.failureRate')} ${formatPercent(rate, i18n.language)}`
        }
        chart={
          <Sparkline
            values={data.days.map((day) => day.requests)}
            label={t('cockpit.requestsChart')}
            height={32}
          />
        }
      />
      <Figure
        label={t('adminOverview.balances')}
        value={<Money usd={data.accounts.balanceUsd} />}
        note={t('adminOverview.onHold', { amount: formatUsd(data.accounts.heldUsd, i18n.language) })}
        extra={
          <>
            {t('cockpit.accounts', { count: data.accounts.total })}
            {data.accounts.disabled > 0
              ? `, ${t('adminOverview.disabled', { count: data.accounts.disabled })}`
              : ''}
          </>
        }
      />
      <Figure
        label={t('adminOverview.open')}
        value={<Count value={data.openRequests} />}
        note={`${t('adminOverview.overrun')}: ${formatUsd(data.overrunUsd, i18n.language)}`}
        extra={
          approximate(data.overrunUsd) > 0 ? (
            <span className="text-bad">{t('adminOverview.overrunHint')}</span>
          ) : null
        }
      />
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly note: string;
  readonly extra?: ReactNode;
  readonly chart?: ReactNode;
}

function Figure({ label, value, note, extra, chart }: FigureProps) {
  return (
    <div className="flex min-w-0 flex-col bg-surface px-4 py-4 sm:px-5">
      <dt className="text-sm text-ink-3">{label}</dt>
      <dd className="mt-0.5 truncate text-xl font-semibold tracking-tight">{value}</dd>
      <dd className="text-sm text-ink-3 tabular-nums">{note}</dd>
      {extra ? <dd className="text-sm text-ink-3">{extra}</dd> : null}
      {chart ? <dd className="mt-auto pt-3">{chart}</dd> : null}
    </div>
  );
}
