import type { TFunction } from 'i18next';
import CircleCheck from 'lucide-react/icons/circle-check';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { useMemo } from 'react';
import { useLocation } from 'wouter';
import type { Answer, ItemOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { formatDuration } from '../../../lib/numbers.ts';
import { usePages } from '../../../lib/pages.ts';
import { hrefWith } from '../../../lib/search.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { useToday } from '../../../lib/time.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { Nothing } from '../../../ui/Numbers.tsx';
import { Empty, FormError } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { DayRangeField, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { entryColumns } from '../../billing/columns.tsx';
import { EntryKindFilter } from '../../billing/EntryKindFilter.tsx';
import { accountColumn, ChosenAccount } from '../accountColumn.tsx';

type AdminVerification = Answer<'POST /api/console/admin/ledger/verify'>;

type AdminEntry = ItemOf<'GET /api/console/admin/entries'>;

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
          <Changeable right="check_books">
            <Button kind="primary" busy={verify.isPending} onClick={() => verify.mutate()}>
              {verify.isPending ? t('ledger.verifying') : t('ledger.verify')}
            </Button>
          </Changeable>
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
            accounts: t('ledger.accountsChecked', { count: checked.accounts }),
            entries: t('ledger.entriesChecked', { count: checked.entries }),
            requests: t('ledger.requestsChecked', { count: checked.requests }),
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
  const table = useTable({
    fields: ['kind', 'account', 'from', 'to'],
    sorts: { offered: [], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/entries', {
    query: { ...table.query, kind: table.values['kind'] ?? 'all' },
  });
  const values = useApi('GET /api/console/admin/list-values').data;
  const { account } = table.values;
  const columns = useMemo(
    () =>
      ledgerColumns(
        { t, i18n },
        {
          onReceipt: (id) => navigate(`/admin/requests?id=${id}`),
          requestsHref: (day) => hrefWith('/admin/requests', { account, from: day, to: day, zone: 'utc' }),
        },
      ),
    [t, i18n, navigate, account],
  );
  return (
    <Card flush title={t('ledger.entries')}>
      <div className="flex flex-col gap-4 px-5 pb-4">
        <TableFilters table={table} searchLabel={t('ledger.search')}>
          <EntryKindFilter table={table} kinds={values?.entryKinds} />
          <DayRangeField canBeAny range={table.values} today={useToday()} change={table.set} />
        </TableFilters>
        <ChosenAccount table={table} />
      </div>
      <TableList
        pages={pages}
        table={table}
        label={t('ledger.entries')}
        columns={columns}
        rowKey={(row) => row.id}
        empty={<Empty title={t('billing.empty')} />}
      />
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
  links: Parameters<typeof entryColumns>[1],
): Column<AdminEntry>[] {
  const { t } = texts;
  const [time, ...rest] = entryColumns(texts, links);
  const actor: Column<AdminEntry> = {
    id: 'actor',
    header: t('ledger.actor'),
    cell: (row) => (row.actor === '' ? <Nothing /> : <span className="text-ink-2">{row.actor}</span>),
  };
  const { sortsFirst: _, ...account } = accountColumn<AdminEntry>(t);
  // The charges of a day are those of all accounts together, unless one was chosen.
  const whose: Column<AdminEntry> = {
    ...account,
    cell: (row) => (row.accountId === '' ? t('ledger.everyAccount') : account.cell(row)),
  };
  return [...(time ? [time] : []), whose, ...rest, actor];
}
