import { usePages } from '../../lib/pages.ts';
import { useSearchState } from '../../lib/search.ts';
import { formatUtcDay } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx';
import { Table } from '../../ui/Table.tsx';
import { requestColumns } from '../requests/columns.tsx';
import { ReceiptSheet } from '../requests/ReceiptSheet.tsx';

const DAY_MS = 86_400_000;

/** The requests of one day, UTC; each opens its receipt. */
export function DayReceipts({ day, onClose }: { day: string; onClose: () => void }) {
  const { t, i18n } = useTranslation();
  const [state, change] = useSearchState();
  const from = Date.parse(`${day}T00:00:00Z`);
  const query = { from: String(from), to: String(from + DAY_MS - 1) };
  const pages = usePages('GET /api/console/requests', { query });
  const rows = pages.data?.pages.flatMap((page) => page.items) ?? [];
  const title = t('statements.requestsOf', { day: formatUtcDay(day, i18n.language, 'long') });
  return (
    <Card
      flush
      title={title}
      actions={
        <Button small onClick={onClose}>
          {t('statements.back')}
        </Button>
      }
    >
      {pages.error && !pages.data ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.isPending ? <SkeletonRows /> : null}
      {pages.data && rows.length === 0 && !pages.hasNextPage ? (
        <Empty title={t('statements.noReceipts')}>{t('statements.archived')}</Empty>
      ) : null}
      {rows.length > 0 ? (
        <Table
          label={title}
          columns={requestColumns(t)}
          rows={rows}
          rowKey={(row) => row.id}
          rowLabel={(row) => t('requests.openReceipt', { id: row.id })}
          onOpen={(row) => change({ id: row.id })}
        />
      ) : null}
      <Pager pages={pages} />
      <ReceiptSheet id={state['id']} onClose={() => change({ id: undefined })} />
    </Card>
  );
}
