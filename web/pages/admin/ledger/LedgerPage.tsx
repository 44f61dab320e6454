import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import CircleCheck from 'lucide-react/icons/circle-check';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { Link, useLocation } from 'wouter';
import type { AdminEntry, AdminVerification } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { formatCount, formatDuration } from '../../../lib/numbers.ts';
import { usePages } from '../../../lib/pages.ts';
import { oneOf, useSearchState } from '../../../lib/search.ts';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { Empty, ErrorState, FormError, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { entryColumns } from '../../billing/columns.tsx';

export default function LedgerPage() {
  const { t } = useTranslation();
  const verify = useAction(async () => await call('POST /api/console/admin/ledger/verify', { body: {} }));
  return (
    <Page wide title={t('ledger.title')} lead={t('ledger.lead')}>
      <Card>
        <div className="flex flex-wrap items-center gap-4">
          <div className="min-w-0 flex-1 basis-64">
            {verify.data ? (
              <Verdict result={verify.data} />
            ) : (
              <p className="text-ink-2">{t('ledger.verifyLead')}</p>
            )}
          </div>
          <Button kind="primary" busy={verify.isPending} onClick={() => verify.mutate()}>
            {verify.isPending ? t('ledger.verifying') : t('ledger.verify')}
          </Button>
        </div>
        {verify.data && !verify.data.ok ? <Breaches breaches={verify.data.breaches} /> : null}
        <FormError error={verify.error} />
      </Card>
      <Entries />
    </Page>
  );
}

function Verdict({ result }: { result: AdminVerification }) {
  const { t, i18n } = useTranslation();
  const count = (value: number): string => formatCount(value, i18n.language);
  const { checked } = result;
  return (
    <div role="status" className="flex items-start gap-3">
      {result.ok ? (
        <CircleCheck size={22} aria-hidden className="shrink-0 text-accent" />
      ) : (
        <TriangleAlert size={22} aria-hidden className="shrink-0 text-bad" />
      )}
      <div>
        <p className={result.ok ? 'font-semibold text-accent' : 'font-semibold text-bad'}>
          {result.ok ? t('ledger.ok') : t('ledger.breaches', { count: result.breaches.length })}
        </p>
        <p className="text-sm text-ink-3">
          {t('ledger.checked', {
            accounts: count(checked.accounts),
            entries: count(checked.entries),
            requests: count(checked.requests),
            time: formatDuration(result.durationMs, i18n.language),
          })}
        </p>
      </div>
    </div>
  );
}

function Breaches({ breaches }: { breaches: AdminVerification['breaches'] }) {
  const { t } = useTranslation();
  return (
    <div className="mt-4">
      <Table
        label={t('ledger.breaches', { count: breaches.length })}
        rows={breaches}
        rowKey={(row) => `${row.invariant}:${row.subject}:${row.detail}`}
        columns={breachColumns(t)}
      />
    </div>
  );
}

function Entries() {
  const { t, i18n } = useTranslation();
  const [, navigate] = useLocation();
  const [state, change] = useSearchState();
  const kind = oneOf(state['kind'], ['all', 'money']);
  const pages = usePages('GET /api/console/admin/entries', { query: { kind, account: state['account'] } });
  const rows = pages.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card
      flush
      title={t('ledger.entries')}
      actions={
        <div className="flex flex-wrap items-end gap-3">
          <TextField
            label={t('ledger.filterAccount')}
            hideLabel
            placeholder={t('ledger.filterAccount')}
            value={state['account'] ?? ''}
            onChange={(event) => change({ account: event.target.value.trim() })}
          />
          <Segments
            label={t('billing.show')}
            value={kind}
            onChange={(next) => change({ kind: next })}
            options={[
              { value: 'all', label: t('billing.all') },
              { value: 'money', label: t('billing.money') },
            ]}
          />
        </div>
      }
    >
      {pages.error && !pages.data ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.isPending ? <SkeletonRows /> : null}
      {pages.data && rows.length === 0 ? <Empty title={t('billing.empty')} /> : null}
      {rows.length > 0 ? (
        <Table
          label={t('ledger.entries')}
          columns={ledgerColumns({ t, i18n }, (id) => navigate(`/admin/requests?id=${id}`))}
          rows={rows}
          rowKey={(row) => row.id}
        />
      ) : null}
      <Pager pages={pages} />
    </Card>
  );
}

function breachColumns(t: TFunction): Column<AdminVerification['breaches'][number]>[] {
  return [
    {
      id: 'invariant',
      header: t('ledger.invariant'),
      card: 'title',
      cell: (row) => <code>{row.invariant}</code>,
    },
    {
      id: 'subject',
      header: t('ledger.subject'),
      cell: (row) => <code className="break-all">{row.subject}</code>,
    },
    { id: 'detail', header: t('ledger.detail'), cell: (row) => row.detail },
  ];
}

function ledgerColumns(
  texts: Parameters<typeof entryColumns>[0],
  onReceipt: (requestId: string) => void,
): Column<AdminEntry>[] {
  const { t } = texts;
  const [time, ...rest] = entryColumns(texts, onReceipt);
  const account: Column<AdminEntry> = {
    id: 'account',
    header: t('ledger.account'),
    cell: (row) => (
      <Link
        href={`/admin/accounts?id=${row.accountId}`}
        className="block max-w-48 truncate hover:text-accent hover:underline"
      >
        {row.email}
      </Link>
    ),
  };
  const actor: Column<AdminEntry> = {
    id: 'actor',
    header: t('ledger.actor'),
    cell: (row) => <span className="text-ink-2">{row.actor}</span>,
  };
  return [...(time ? [time] : []), account, ...rest, actor];
}
