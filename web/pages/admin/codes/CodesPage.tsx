import type { TFunction } from 'i18next';
import { useState } from 'react';
import Plus from 'lucide-react/icons/plus';
import type { AdminCodeBatch, AdminMadeCodes } from '../../../../src/console/contract.ts';
import { usePages } from '../../../lib/pages.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Meter } from '../../../ui/Meter.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Empty } from '../../../ui/States.tsx';
import type { Column } from '../../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { Time } from '../../../ui/Time.tsx';
import { CancelBatch } from './CancelBatch.tsx';
import { Invites } from './Invites.tsx';
import { MadeCodes } from './MadeCodes.tsx';
import { MakeCodes } from './MakeCodes.tsx';

export default function CodesPage() {
  const { t } = useTranslation();
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<AdminMadeCodes>();
  return (
    <Page
      title={t('codes.title')}
      lead={t('codes.lead')}
      actions={
        <Button small kind="primary" icon={<Plus size={15} aria-hidden />} onClick={() => setMaking(true)}>
          {t('codes.make')}
        </Button>
      }
    >
      <Batches />
      <Invites />
      {making ? (
        <MakeCodes
          onClose={() => setMaking(false)}
          onMade={(codes) => {
            setMaking(false);
            setMade(codes);
          }}
        />
      ) : null}
      {made ? <MadeCodes made={made} onClose={() => setMade(undefined)} /> : null}
    </Page>
  );
}

function Batches() {
  const { t } = useTranslation();
  const table = useTable({
    fields: ['state'],
    sorts: { offered: ['time', 'batch', 'amount', 'redeemed'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/codes', { query: table.query });
  return (
    <Card flush title={t('codes.batches')}>
      <TableFilters table={table} searchLabel={t('codes.search')} className="px-5 pb-4">
        <TableFilter
          table={table}
          field="state"
          label={t('codes.state')}
          values={['open', 'over']}
          name={(state) => t(state === 'open' ? 'codes.stillOpen' : 'codes.isOver')}
        />
      </TableFilters>
      <TableList
        pages={pages}
        table={table}
        label={t('codes.batches')}
        columns={batchColumns(t)}
        rowKey={(row) => row.batch}
        empty={<Empty title={t('codes.empty')}>{t('codes.emptyLead')}</Empty>}
      />
    </Card>
  );
}

function batchColumns(t: TFunction): Column<AdminCodeBatch>[] {
  return [
    {
      id: 'batch',
      header: t('codes.batchName'),
      card: 'title',
      sortsFirst: 'ascending',
      cell: (row) => <span className="font-medium">{row.batch}</span>,
    },
    {
      id: 'amount',
      header: t('codes.each'),
      sortsFirst: 'descending',
      align: 'right',
      card: 'aside',
      amount: (row) => row.amountUsd,
      cell: (row) => <Money usd={row.amountUsd} />,
    },
    {
      id: 'redeemed',
      header: t('codes.redeemed'),
      sortsFirst: 'descending',
      cell: (row) => (
        <span className="block w-36">
          <span className="tabular-nums">{t('codes.of', { redeemed: row.redeemed, count: row.count })}</span>
          <Meter share={row.redeemed / Math.max(row.count, 1)} label={t('codes.redeemed')} />
        </span>
      ),
    },
    {
      id: 'by',
      header: t('codes.createdBy'),
      cell: (row) => <span className="break-all">{row.createdBy}</span>,
    },
    {
      id: 'time',
      header: t('codes.created'),
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.createdAt} style="date" />,
    },
    {
      id: 'valid',
      header: t('codes.valid'),
      cell: (row) =>
        row.open === 0 ? (
          <span className="text-ink-3">
            {t(row.redeemed === row.count ? 'codes.allRedeemed' : 'codes.over')}
          </span>
        ) : row.expiresAt ? (
          <Time at={row.expiresAt} style="date" />
        ) : (
          t('codes.forever')
        ),
    },
    {
      id: 'actions',
      header: <span className="sr-only">{t('codes.cancel')}</span>,
      align: 'right',
      cell: (row) => (row.open > 0 ? <CancelBatch batch={row} /> : null),
    },
  ];
}
