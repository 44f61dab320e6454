import { useApi } from '../../lib/api.ts';
import { formatUtcDay } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Money } from '../../ui/Money.tsx';
import { Count } from '../../ui/Numbers.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx';
import { Table } from '../../ui/Table.tsx';

export function Days({ month, onOpen }: { month: string; onOpen: (day: string) => void }) {
  const { t, i18n } = useTranslation();
  const days = useApi('GET /api/console/statements/{month}/days', { params: { month } });
  const name = (day: string): string => formatUtcDay(day, i18n.language, 'long');
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
          rowLabel={(row) => t('statements.openDay', { day: name(row.day) })}
          onOpen={(row) => onOpen(row.day)}
          columns={[
            {
              id: 'day',
              header: t('statements.day'),
              card: 'title',
              cell: (row) => <DayName name={name(row.day)} archived={row.archived} />,
            },
            {
              id: 'requests',
              header: t('statements.requests'),
              align: 'right',
              cell: (row) => <Count value={row.requests} />,
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

function DayName({ name, archived }: { name: string; archived: boolean }) {
  const { t } = useTranslation();
  return (
    <>
      {name}
      {archived ? <span className="ml-2 text-ink-3">{t('statements.archivedDay')}</span> : null}
    </>
  );
}
