import { useApi } from '../../lib/api.ts';
import { formatUtcDay } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Card } from '../../ui/Card.tsx';
import { Money } from '../../ui/Money.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx';
import { Table } from '../../ui/Table.tsx';
import { DayRequests, requestsOfDay } from '../billing/columns.tsx';

export function Days({ month }: { month: string }) {
  const { t, i18n } = useTranslation();
  const { wallet } = useWallet();
  const days = useApi('GET /api/console/statements/{month}/days', { params: { month }, query: { wallet } });
  return (
    <Card flush title={t('statements.days')} hint={t('statements.daysHint')}>
      {days.error && !days.data ? (
        <ErrorState error={days.error} onRetry={() => void days.refetch()} />
      ) : null}
      {days.isPending ? <SkeletonRows rows={4} /> : null}
      {days.data?.length === 0 ? <Empty compact title={t('statements.noDays')} /> : null}
      {days.data && days.data.length > 0 ? (
        <Table
          label={t('statements.days')}
          rows={days.data}
          rowKey={(row) => row.day}
          columns={[
            {
              id: 'day',
              header: t('statements.day'),
              card: 'title',
              cell: (row) => formatUtcDay(row.day, i18n.language, 'long'),
            },
            {
              id: 'requests',
              header: t('statements.requests'),
              align: 'right',
              cell: (row) => <DayRequests day={row} href={requestsOfDay(wallet)(row.day)} />,
            },
            {
              id: 'charged',
              header: t('statements.charged'),
              align: 'right',
              card: 'aside',
              amount: (row) => row.chargedUsd,
              cell: (row) => <Money usd={row.chargedUsd} plain />,
            },
          ]}
        />
      ) : null}
    </Card>
  );
}
