import type { TFunction } from 'i18next';
import type { AdminListedAccount } from '../../../../src/console/contract.ts';
import { Badge } from '../../../ui/Badge.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Nothing } from '../../../ui/Numbers.tsx';
import type { Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';

export function accountColumns(t: TFunction): Column<AdminListedAccount>[] {
  return [
    {
      id: 'account',
      header: t('accounts.email'),
      card: 'title',
      sortsFirst: 'ascending',
      cell: (row) => (
        <span className="flex min-w-0 flex-wrap items-center gap-2">
          <span className="min-w-0">
            <span className="block truncate font-medium">{row.email}</span>
            {row.name ? <span className="block truncate text-xs text-ink-3">{row.name}</span> : null}
          </span>
          {row.role === 'admin' ? <Badge tone="good">{t('accounts.admin')}</Badge> : null}
          {row.status === 'disabled' ? <Badge tone="bad">{t('accounts.disabled')}</Badge> : null}
        </span>
      ),
    },
    {
      id: 'balance',
      header: t('accounts.balance'),
      align: 'right',
      card: 'aside',
      sortsFirst: 'descending',
      amount: (row) => row.balanceUsd,
      cell: (row) => <Money usd={row.balanceUsd} />,
    },
    {
      id: 'held',
      header: t('accounts.held'),
      align: 'right',
      amount: (row) => row.heldUsd,
      cell: (row) => (row.openHolds > 0 ? <Money usd={row.heldUsd} /> : <Nothing />),
    },
    {
      id: 'month',
      header: t('accounts.month'),
      align: 'right',
      sortsFirst: 'descending',
      amount: (row) => row.monthSpentUsd,
      cell: (row) => <Money usd={row.monthSpentUsd} />,
    },
    {
      id: 'token',
      header: t('accounts.token'),
      cell: (row) =>
        row.tokenHint ? (
          <span className="inline-flex items-center gap-2">
            <code className="text-xs">{row.tokenHint}</code>
            {row.tokenExposedAt ? <Badge tone="bad">{t('accounts.exposed')}</Badge> : null}
          </span>
        ) : (
          <Nothing />
        ),
    },
    {
      id: 'time',
      header: t('accounts.created'),
      align: 'right',
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.createdAt} style="date" />,
    },
  ];
}
