import type { TFunction } from 'i18next';
import type { AdminOverview } from '../../../lib/answers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Count } from '../../../ui/Numbers.tsx';
import { Empty } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';

export function TopModels({ rows }: { rows: AdminOverview['topModels'] }) {
  const { t } = useTranslation();
  return (
    <Card flush title={t('adminOverview.topModels')}>
      {rows.length === 0 ? (
        <Empty compact title={t('adminOverview.nothing')} />
      ) : (
        <Table
          label={t('adminOverview.topModels')}
          rows={rows}
          rowKey={(row) => `${row.endpoint}/${row.model}`}
          columns={modelColumns(t)}
        />
      )}
    </Card>
  );
}

export function TopAccounts({ rows }: { rows: AdminOverview['topAccounts'] }) {
  const { t } = useTranslation();
  return (
    <Card flush title={t('adminOverview.topAccounts')}>
      {rows.length === 0 ? (
        <Empty compact title={t('adminOverview.nothing')} />
      ) : (
        <Table
          label={t('adminOverview.topAccounts')}
          rows={rows}
          rowKey={(row) => row.accountId}
          columns={accountColumns(t)}
        />
      )}
    </Card>
  );
}

function modelColumns(t: TFunction): Column<AdminOverview['topModels'][number]>[] {
  return [
    {
      id: 'model',
      header: t('requests.model'),
      card: 'title',
      cell: (row) => (
        <span>
          {row.model} <span className="font-mono text-xs text-ink-3">{row.endpoint}</span>
        </span>
      ),
    },
    {
      id: 'requests',
      header: t('adminOverview.requests'),
      align: 'right',
      cell: (row) => <Count value={row.requests} />,
    },
    {
      id: 'charged',
      header: t('usage.charged'),
      align: 'right',
      card: 'aside',
      cell: (row) => <Money usd={row.chargedUsd} />,
    },
  ];
}

function accountColumns(t: TFunction): Column<AdminOverview['topAccounts'][number]>[] {
  return [
    {
      id: 'email',
      header: t('accounts.email'),
      card: 'title',
      cell: (row) => (
        <Link href={`/admin/accounts?id=${row.accountId}`} className="hover:text-accent hover:underline">
          {row.email}
        </Link>
      ),
    },
    {
      id: 'charged',
      header: t('accounts.month'),
      align: 'right',
      card: 'aside',
      cell: (row) => <Money usd={row.monthSpentUsd} />,
    },
  ];
}
