import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { AdminPayment, AdminPaymentProblem, AdminReversal } from '../../../../src/console/contract.ts';
import { usePages } from '../../../lib/pages.ts';
import { oneOf, useSearchState } from '../../../lib/search.ts';
import { Badge } from '../../../ui/Badge.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';
import { paymentColumns } from '../../billing/PaymentHistory.tsx';

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
        onChange={(show) => change({ show })}
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
  const pages = usePages('GET /api/console/admin/payments');
  const [time, ...rest] = paymentColumns<AdminPayment>(t, i18n.language);
  const atStripe: Column<AdminPayment> = {
    id: 'intent',
    header: t('adminPayments.atStripe'),
    cell: (row) => <code className="text-xs break-all">{row.intentId ?? '–'}</code>,
  };
  const columns = [...(time ? [time] : []), accountColumn<AdminPayment>(t), ...rest, atStripe];
  return (
    <List pages={pages} empty={t('payments.none')}>
      {(rows) => (
        <Table label={t('adminPayments.payments')} columns={columns} rows={rows} rowKey={(row) => row.id} />
      )}
    </List>
  );
}

function ReversalList() {
  const { t } = useTranslation();
  const pages = usePages('GET /api/console/admin/payments/reversals');
  const lost = pages.data?.pages[0]?.lostUsd;
  return (
    <>
      <Card>
        <p className="text-sm text-ink-3">{t('adminPayments.lost')}</p>
        <p className="text-xl font-semibold">{lost === undefined ? '…' : <Money usd={lost} />}</p>
      </Card>
      <List pages={pages} empty={t('adminPayments.noReversals')}>
        {(rows) => (
          <Table
            label={t('adminPayments.reversals')}
            columns={reversalColumns(t)}
            rows={rows}
            rowKey={(row) => row.id}
          />
        )}
      </List>
    </>
  );
}

function ProblemList() {
  const { t } = useTranslation();
  const pages = usePages('GET /api/console/admin/payments/problems');
  return (
    <List pages={pages} empty={t('adminPayments.noProblems')} hint={t('adminPayments.problemsHint')}>
      {(rows) => (
        <Table
          label={t('adminPayments.problems')}
          columns={problemColumns(t)}
          rows={rows}
          rowKey={(row) => row.eventId}
        />
      )}
    </List>
  );
}

interface ListProps<Row> {
  readonly pages: Parameters<typeof Pager>[0]['pages'] & {
    readonly data: { readonly pages: readonly { readonly items: readonly Row[] }[] } | undefined;
    readonly error: Error | null;
    readonly isPending: boolean;
    readonly refetch: () => unknown;
  };
  readonly empty: string;
  readonly hint?: string;
  readonly children: (rows: readonly Row[]) => ReactNode;
}

function List<Row>({ pages, empty, hint, children }: ListProps<Row>) {
  const rows = pages.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card flush {...(hint !== undefined && rows.length > 0 ? { title: hint } : {})}>
      {pages.error && !pages.data ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.isPending ? <SkeletonRows /> : null}
      {pages.data && rows.length === 0 ? <Empty title={empty} /> : null}
      {rows.length > 0 ? children(rows) : null}
      <Pager pages={pages} />
    </Card>
  );
}

function accountColumn<Row extends { readonly accountId: string | null; readonly email: string | null }>(
  t: TFunction,
): Column<Row> {
  return {
    id: 'account',
    header: t('adminPayments.account'),
    cell: (row) =>
      row.accountId === null ? (
        '–'
      ) : (
        <Link
          href={`/admin/accounts?id=${row.accountId}`}
          className="block max-w-48 truncate hover:text-accent hover:underline"
        >
          {row.email ?? row.accountId}
        </Link>
      ),
  };
}

function reversalColumns(t: TFunction): Column<AdminReversal>[] {
  return [
    { id: 'time', header: t('payments.time'), cell: (row) => <Time at={row.at} /> },
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
      cell: (row) => <Money usd={row.amountUsd} plain />,
    },
    {
      id: 'taken',
      header: t('adminPayments.taken'),
      align: 'right',
      cell: (row) => <Money usd={row.takenUsd} plain />,
    },
    {
      id: 'lost',
      header: t('adminPayments.loss'),
      align: 'right',
      cell: (row) => <Money usd={row.lostUsd} plain />,
    },
  ];
}

function problemColumns(t: TFunction): Column<AdminPaymentProblem>[] {
  return [
    { id: 'time', header: t('payments.time'), cell: (row) => <Time at={row.at} /> },
    accountColumn<AdminPaymentProblem>(t),
    {
      id: 'event',
      header: t('adminPayments.event'),
      card: 'title',
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
