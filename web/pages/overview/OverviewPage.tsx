import { useState } from 'react';
import { useLocation } from 'wouter';
import type { Overview, UsageChartRow } from '../../lib/answers.ts';
import { daysBetween, usageBars } from '../../charts/usageBars.ts';
import { UsageChart } from '../../charts/UsageChart.tsx';
import { useApi } from '../../lib/api.ts';
import { approximate, formatUsd, formatUsdTick } from '../../lib/money.ts';
import { formatUtcDay, shiftDay, useToday } from '../../lib/time.ts';
import { hrefWith } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Link } from '../../ui/Link.tsx';
import { Empty, Loaded, Skeleton, SkeletonRows } from '../../ui/States.tsx';
import { Table } from '../../ui/Table.tsx';
import { requestColumns } from '../requests/columns.tsx';
import { ReceiptSheet } from '../requests/ReceiptSheet.tsx';
import { BalanceCard } from './BalanceCard.tsx';
import { FirstSteps } from './FirstSteps.tsx';

const REFRESH_MS = 15_000;
/** Shorter while there are first steps to take: they may be taken elsewhere, and are ticked soon. */
const FIRST_STEPS_MS = 3_000;

export default function OverviewPage() {
  const { t } = useTranslation();
  const [begins, setBegins] = useState(false);
  const overview = useApi('GET /api/console/overview', undefined, {
    refetchInterval: begins ? FIRST_STEPS_MS : REFRESH_MS,
  });
  const isNew = overview.data?.latest.length === 0;
  // The steps stay once they were shown, so that the last of them is seen ticked.
  if (isNew && !begins) setBegins(true);
  return (
    <Page
      title={t('overview.title')}
      actions={
        <LinkButton small href="/app/playground" kind="primary">
          {t('nav.playground')}
        </LinkButton>
      }
    >
      <Loaded query={overview} skeleton={<Bones />}>
        {(data) => (
          <>
            <BalanceCard overview={data} />
            {begins ? <FirstSteps overview={data} /> : null}
            {data.latest.length > 0 || data.chart.length > 0 ? <SpendChart rows={data.chart} /> : null}
            {data.latest.length > 0 ? <Latest rows={data.latest} /> : null}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const CHART_DAYS = 14;

function SpendChart({ rows }: { rows: readonly UsageChartRow[] }) {
  const { t, i18n } = useTranslation();
  const [, navigate] = useLocation();
  const today = useToday();
  const usd = (value: number): string => formatUsd(value.toFixed(9), i18n.language);
  const { series, bars } = usageBars(rows, {
    days: daysBetween(shiftDay(today, 1 - CHART_DAYS), today),
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

function Latest({ rows }: { rows: Overview['latest'] }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<string>();
  return (
    <Card
      flush
      title={t('overview.latest')}
      actions={
        <Link href="/app/requests" className="text-sm text-accent underline-offset-2 hover:underline">
          {t('overview.allRequests')}
        </Link>
      }
    >
      {rows.length === 0 ? (
        <Empty compact title={t('requests.empty')} />
      ) : (
        <Table
          label={t('overview.latest')}
          columns={requestColumns(t).filter((column) => column.id !== 'client')}
          rows={rows}
          rowKey={(row) => row.id}
          rowLabel={(row) => t('requests.openReceipt', { id: row.id })}
          onOpen={(row) => setOpen(row.id)}
        />
      )}
      <ReceiptSheet id={open} onClose={() => setOpen(undefined)} />
    </Card>
  );
}

function Bones() {
  return (
    <>
      <Skeleton className="h-44 w-full rounded-lg" />
      <Skeleton className="h-72 w-full rounded-lg" />
      <SkeletonRows rows={5} />
    </>
  );
}
