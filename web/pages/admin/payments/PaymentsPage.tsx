import type { TFunction } from 'i18next';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { useApi } from '../../../lib/api.ts';
import { usePages } from '../../../lib/pages.ts';
import { oneOf, useSearchState } from '../../../lib/search.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { Empty } from '../../../ui/States.tsx';
import type { Column } from '../../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { Time } from '../../../ui/Time.tsx';
import { paymentColumns, PaymentStateFilter } from '../../billing/PaymentHistory.tsx';
import { accountColumn, ChosenAccount } from '../accountColumn.tsx';

type AdminPayment = ItemOf<'GET /api/console/admin/payments'>;
type AdminPaymentProblem = ItemOf<'GET /api/console/admin/payments/problems'>;
type AdminReversal = ItemOf<'GET /api/console/admin/payments/reversals'>;

/** Clears the filters of all three lists. */
const NO_FILTERS = Object.fromEntries(
  ['search', 'sort', 'state', 'kind', 'type', 'account'].map((field) => [field, undefined]),
);
const VIEWS = ['payments', 'reversals', 'problems'] as const;

export default function PaymentsPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const view = oneOf(state['show'], VIEWS);
  return (
    <Page wide title={t('adminPayments.title')} lead={t('adminPayments.lead')}>
      <Segments
        label={t('adminPayments.show')}
        value={view}
        // Each list has its own filters.
        onChange={(show) => change({ ...NO_FILTERS, show })}
        options={VIEWS.map((value) => ({ value, label: t(`adminPayments.${value}`) }))}
      />
      {view === 'payments' ? <PaymentList /> : null}
      {view === 'reversals' ? <ReversalList /> : null}
      {view === 'problems' ? <ProblemList /> : null}
    </Page>
  );
}

function PaymentList() {
  const { t, i18n } = useTranslation();
  const table = useTable({
    fields: ['state', 'account'],
    sorts: { offered: ['time', 'account', 'amount'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/payments', { query: table.query });
  const values = useApi('GET /api/console/admin/list-values').data;
  const [time, ...rest] = paymentColumns<AdminPayment>(t, i18n.language);
  const atStripe: Column<AdminPayment> = {
    id: 'intent',
    header: t('adminPayments.atStripe'),
    cell: (row) => <code className="text-xs break-all">{row.intentId ?? '–'}</code>,
  };
  const columns = [...(time ? [time] : []), accountColumn<AdminPayment>(t), ...rest, atStripe];
  return (
    <>
      <TableFilters table={table} searchLabel={t('adminPayments.search')}>
        <PaymentStateFilter table={table} states={values?.paymentStates} />
      </TableFilters>
      <ChosenAccount table={table} />
      <Card flush>
        <TableList
          pages={pages}
          table={table}
          label={t('adminPayments.payments')}
          columns={columns}
          rowKey={(row) => row.id}
          empty={<Empty title={t('payments.none')} />}
        />
      </Card>
    </>
  );
}

function ReversalList() {
  const { t } = useTranslation();
  const table = useTable({
    fields: ['kind'],
    sorts: { offered: ['time', 'account', 'amount', 'taken', 'lost'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/payments/reversals', { query: table.query });
  const lost = pages.data?.pages[0]?.lostUsd;
  return (
    <>
      <Card>
        <p className="text-sm text-ink-3">{t('adminPayments.lost')}</p>
        <p className="text-xl font-semibold">{lost === undefined ? '…' : <Money usd={lost} />}</p>
      </Card>
      <TableFilters table={table} searchLabel={t('adminPayments.search')}>
        <TableFilter
          table={table}
          field="kind"
          label={t('payments.kind')}
          values={['refund', 'dispute']}
          name={(kind) => t(kind === 'refund' ? 'adminPayments.kinds.refund' : 'adminPayments.kinds.dispute')}
        />
      </TableFilters>
      <Card flush>
        <TableList
          pages={pages}
          table={table}
          label={t('adminPayments.reversals')}
          columns={reversalColumns(t)}
          rowKey={(row) => row.id}
          empty={<Empty title={t('adminPayments.noReversals')} />}
        />
      </Card>
    </>
  );
}

function ProblemList() {
  const { t } = useTranslation();
  const table = useTable({
    fields: ['type'],
    sorts: { offered: ['time', 'account', 'event'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/payments/problems', { query: table.query });
  const values = useApi('GET /api/console/admin/list-values').data;
  const hasRows = pages.data?.pages.some((page) => page.items.length > 0);
  return (
    <>
      <TableFilters table={table} searchLabel={t('adminPayments.searchProblems')}>
        <TableFilter
          table={table}
          field="type"
          label={t('adminPayments.event')}
          values={values?.paymentEvents}
          name={(type) => type}
        />
      </TableFilters>
      <Card flush {...(hasRows ? { title: t('adminPayments.problemsHint') } : {})}>
        <TableList
          pages={pages}
          table={table}
          label={t('adminPayments.problems')}
          columns={problemColumns(t)}
          rowKey={(row) => row.eventId}
          empty={<Empty title={t('adminPayments.noProblems')} />}
        />
      </Card>
    </>
  );
}

function reversalColumns(t: TFunction): Column<AdminReversal>[] {
  return [
    {
      id: 'time',
      header: t('payments.time'),
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.at} />,
    },
    accountColumn<AdminReversal>(t),
    {
      id: 'kind',
      header: t('payments.kind'),
      card: 'title',
      cell: (row) => (
        <span className="inline-flex items-center gap-2">
          {t(`adminPayments.kinds.${row.kind}`)}
          {row.returnedAt === null ? null : <Badge tone="good">{t('adminPayments.cameBack')}</Badge>}
        </span>
      ),
    },
    {
      id: 'id',
      header: t('adminPayments.atStripe'),
      cell: (row) => <code className="text-xs break-all">{row.id}</code>,
    },
    {
      id: 'amount',
      header: t('adminPayments.amount'),
      align: 'right',
      card: 'aside',
      sortsFirst: 'descending',
      cell: (row) => <Money usd={row.amountUsd} plain />,
    },
    {
      id: 'taken',
      header: t('adminPayments.taken'),
      align: 'right',
      sortsFirst: 'descending',
      cell: (row) => <Money usd={row.takenUsd} plain />,
    },
    {
      id: 'owed',
      header: t('adminPayments.owed'),
      align: 'right',
      cell: (row) => <Money usd={row.owedUsd} plain />,
    },
    {
      id: 'lost',
      header: t('adminPayments.loss'),
      align: 'right',
      sortsFirst: 'descending',
      cell: (row) => <Money usd={row.lostUsd} plain />,
    },
  ];
}

function problemColumns(t: TFunction): Column<AdminPaymentProblem>[] {
  return [
    {
      id: 'time',
      header: t('payments.time'),
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.at} />,
    },
    accountColumn<AdminPaymentProblem>(t),
    {
      id: 'event',
      header: t('adminPayments.event'),
      card: 'title',
      sortsFirst: 'ascending',
      cell: (row) => <code className="text-xs break-all">{row.type}</code>,
    },
    {
      id: 'object',
      header: t('adminPayments.atStripe'),
      cell: (row) => <code className="text-xs break-all">{row.objectId}</code>,
    },
    { id: 'reason', header: t('adminPayments.reason'), cell: (row) => row.reason },
  ];
}
