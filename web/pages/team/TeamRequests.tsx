import { useState } from 'react';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { usePages } from '../../lib/pages.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { requestColumns } from '../requests/columns.tsx';
import { ReceiptSheet } from '../requests/ReceiptSheet.tsx';

type TeamRequest = ItemOf<'GET /api/console/team/requests'>;

const SHOWN = 10;
const SHOWN_COLUMNS = new Set(['model', 'status', 'tokens', 'cost', 'duration']);

/** The newest requests of the team's accounts, each with its receipt. */
export function TeamRequests() {
  const { t } = useTranslation();
  const [open, setOpen] = useState<string>();
  const pages = usePages('GET /api/console/team/requests', { limit: SHOWN });
  const [time, ...others] = requestColumns(t);
  const account: Column<TeamRequest> = {
    id: 'account',
    header: t('team.account'),
    cell: (row) => <span className="block max-w-48 truncate">{row.account}</span>,
  };
  const columns = [...(time ? [time] : []), account, ...others.filter(({ id }) => SHOWN_COLUMNS.has(id))];
  const rows = pages.data?.pages.flatMap((page) => page.items);
  return (
    <Card flush title={t('team.requests')}>
      {pages.error && !rows ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : rows === undefined ? (
        <SkeletonRows />
      ) : rows.length === 0 ? (
        <Empty compact title={t('team.requestsNone')} />
      ) : (
        <>
          <Table
            label={t('team.requests')}
            rows={rows}
            rowKey={(row) => row.id}
            rowLabel={(row) => t('requests.openReceipt', { id: row.id })}
            onOpen={(row) => setOpen(row.id)}
            columns={columns}
          />
          <Pager pages={pages} note={null} />
        </>
      )}
      <ReceiptSheet isTeams id={open} onClose={() => setOpen(undefined)} />
    </Card>
  );
}
