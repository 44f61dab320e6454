import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import Plus from 'lucide-react/icons/plus';
import type { AdminCodeBatch, AdminMadeCodes } from '../../../../src/console/contract.ts';
import { usePages } from '../../../lib/pages.ts';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Meter } from '../../../ui/Meter.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
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
  const pages = usePages('GET /api/console/admin/codes');
  if (pages.error && !pages.data)
    return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />;
  if (!pages.data) return <SkeletonRows />;
  const rows = pages.data.pages.flatMap((page) => page.items);
  return (
    <Card flush title={t('codes.batches')}>
      {rows.length === 0 ? (
        <Empty title={t('codes.empty')}>{t('codes.emptyLead')}</Empty>
      ) : (
        <Table label={t('codes.batches')} columns={batchColumns(t)} rows={rows} rowKey={(row) => row.batch} />
      )}
      <Pager pages={pages} />
    </Card>
  );
}

function batchColumns(t: TFunction): Column<AdminCodeBatch>[] {
  return [
    {
      id: 'batch',
      header: t('codes.batchName'),
      card: 'title',
      cell: (row) => <span className="font-medium">{row.batch}</span>,
    },
    {
      id: 'each',
      header: t('codes.each'),
      align: 'right',
      card: 'aside',
      amount: (row) => row.amountUsd,
      cell: (row) => <Money usd={row.amountUsd} />,
    },
    {
      id: 'redeemed',
      header: t('codes.redeemed'),
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
    { id: 'created', header: t('codes.created'), cell: (row) => <Time at={row.createdAt} style="date" /> },
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
