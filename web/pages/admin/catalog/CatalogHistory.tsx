import type { TFunction } from 'i18next';
import { useState } from 'react';
import type { Answer, ItemOf } from '../../../../src/console/contract/routes.ts';
import { useApi } from '../../../lib/api.ts';
import { usePages } from '../../../lib/pages.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Code } from '../../../ui/Code.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Empty, ErrorState, Loaded, Skeleton, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';

type AdminCatalogVersion = ItemOf<'GET /api/console/admin/catalog/history'>;

interface CatalogHistoryProps {
  readonly onRestore: (version: Answer<'GET /api/console/admin/catalog/history/{id}'>) => void;
}

export function CatalogHistory({ onRestore }: CatalogHistoryProps) {
  const { t } = useTranslation();
  const pages = usePages('GET /api/console/admin/catalog/history');
  const [open, setOpen] = useState<AdminCatalogVersion>();
  if (pages.error && !pages.data)
    return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />;
  if (!pages.data) return <SkeletonRows />;
  const rows = pages.data.pages.flatMap((page) => page.items);
  return (
    <Card flush>
      {rows.length === 0 ? (
        <Empty title={t('catalog.noHistory')} />
      ) : (
        <Table
          label={t('catalog.history')}
          rows={rows}
          rowKey={(row) => row.revision}
          rowLabel={(row) => t('catalog.revision', { revision: row.revision })}
          onOpen={setOpen}
          columns={versionColumns(t)}
        />
      )}
      <Pager pages={pages} />
      {open ? <Version version={open} onClose={() => setOpen(undefined)} onRestore={onRestore} /> : null}
    </Card>
  );
}

function Version({
  version,
  onClose,
  onRestore,
}: CatalogHistoryProps & { version: AdminCatalogVersion; onClose: () => void }) {
  const { t } = useTranslation();
  const detail = useApi('GET /api/console/admin/catalog/history/{id}', {
    params: { id: String(version.revision) },
  });
  return (
    <Dialog
      open
      kind="wide"
      title={`${t('catalog.revision', { revision: version.revision })} ${t('catalog.by', { actor: version.actor })}`}
      onClose={onClose}
      footer={
        detail.data ? (
          <Button kind="primary" onClick={() => detail.data && onRestore(detail.data)}>
            {t('catalog.restore')}
          </Button>
        ) : null
      }
    >
      <Loaded query={detail} skeleton={<Skeleton className="h-80 w-full" />}>
        {(data) => <Code label={t('catalog.yaml')} code={data.yaml} />}
      </Loaded>
    </Dialog>
  );
}

function versionColumns(t: TFunction): Column<AdminCatalogVersion>[] {
  return [
    { id: 'revision', header: '#', cell: (row) => row.revision },
    { id: 'note', header: t('catalog.note'), card: 'title', cell: (row) => row.note || '–' },
    { id: 'actor', header: t('codes.createdBy'), cell: (row) => row.actor },
    {
      id: 'at',
      header: t('requests.time'),
      align: 'right',
      cell: (row) => <Time at={row.at} style="full" />,
    },
  ];
}
