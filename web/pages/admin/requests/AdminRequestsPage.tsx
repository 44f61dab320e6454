import type { TFunction } from 'i18next';
import { useState } from 'react';
import Download from 'lucide-react/icons/download';
import type { Answer, ItemOf } from '../../../../src/console/contract/routes.ts';
import { urlOf, useApi } from '../../../lib/api.ts';
import { usePages } from '../../../lib/pages.ts';
import { useSearchState } from '../../../lib/search.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Nothing } from '../../../ui/Numbers.tsx';
import { Empty, Loaded, Skeleton } from '../../../ui/States.tsx';
import { Switch } from '../../../ui/Field.tsx';
import { useColumns, type Column } from '../../../ui/Table.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { requestColumns } from '../../requests/columns.tsx';
import {
  RequestFilters,
  requestSort,
  requestTable,
  useSettledFilters,
} from '../../requests/RequestFilters.tsx';
import { CopyCurl } from '../../requests/ReceiptActions.tsx';
import { ReceiptView } from '../../requests/ReceiptView.tsx';

type AdminRequestRow = ItemOf<'GET /api/console/admin/requests'>;

const LIVE_MS = 3000;

export default function AdminRequestsPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const [live, setLive] = useState(false);
  const query = { ...useSettledFilters(state), account: state['account'], backend: state['backend'] };
  const values = useApi('GET /api/console/admin/request-values', undefined, { staleTime: 60_000 }).data;
  const pages = usePages('GET /api/console/admin/requests', {
    query: { ...query, sort: requestSort(state) },
    refetchInterval: live ? LIVE_MS : false,
  });
  return (
    <Page
      wide
      title={t('nav.adminRequests')}
      actions={
        <>
          <Switch label={t('requests.live')} checked={live} onChange={setLive} />
          <a
            href={urlOf('GET /api/console/admin/requests.csv', { query })}
            download
            className="inline-flex h-8 items-center gap-2 rounded-md border border-line bg-surface px-3 text-sm font-medium hover:bg-hover"
          >
            <Download size={14} aria-hidden />
            {t('requests.export')}
          </a>
        </>
      }
    >
      <RequestFilters
        state={state}
        change={change}
        values={values}
        searchLabel={t('tables.searchAllRequests')}
      />
      {state['account'] ? (
        <p className="-mt-2 flex items-center gap-2 text-sm text-ink-3">
          {t('requests.account')}: <AccountName id={state['account']} />
          <Button small kind="ghost" onClick={() => change({ account: undefined })}>
            {t('tables.removeAccount')}
          </Button>
        </p>
      ) : null}
      <Card flush>
        <TableList
          pages={pages}
          table={requestTable(state, change)}
          label={t('nav.adminRequests')}
          columns={useColumns(columns)}
          rowKey={(row) => row.id}
          rowLabel={(row) => t('requests.openReceipt', { id: row.id })}
          onOpen={(row) => change({ id: row.id })}
          empty={<Empty title={t('requests.empty')} />}
        />
      </Card>
      <AdminReceipt id={state['id']} onClose={() => change({ id: undefined })} />
    </Page>
  );
}

/** The account that the list is filtered by: people know its email address, while the page's address may hold an id. */
function AccountName({ id }: { id: string }) {
  const isId = !id.includes('@');
  const detail = useApi('GET /api/console/admin/accounts/{id}', { params: { id } }, { enabled: isId });
  return <span className="text-ink">{detail.data?.email ?? id}</span>;
}

function columns(t: TFunction): Column<AdminRequestRow>[] {
  const [time, ...rest] = requestColumns(t);
  const account: Column<AdminRequestRow> = {
    id: 'account',
    header: t('requests.account'),
    cell: (row) => (
      <Link
        href={`/admin/accounts?id=${row.accountId}`}
        className="block max-w-44 truncate hover:text-accent hover:underline"
        title={row.email}
      >
        {row.email}
      </Link>
    ),
  };
  const backend: Column<AdminRequestRow> = {
    id: 'backend',
    header: t('requests.backend'),
    cell: (row) => (row.upstream ? <code className="text-xs">{row.upstream}</code> : <Nothing />),
  };
  return [...(time ? [time] : []), account, ...rest, backend];
}

function AdminReceipt({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  const { t } = useTranslation();
  const receipt = useApi(
    'GET /api/console/admin/requests/{id}',
    { params: { id: id ?? '' } },
    { enabled: id !== undefined },
  );
  return (
    <Dialog open={id !== undefined} onClose={onClose} kind="sheet" title={t('receipt.title')}>
      <Loaded query={receipt} skeleton={<Skeleton className="h-96 w-full" />}>
        {(data) => (
          <ReceiptView
            receipt={shownReceipt(data)}
            actions={<CopyCurl receipt={data} />}
            more={[
              { label: t('requests.account'), value: data.email },
              { label: t('requests.backend'), value: data.upstream ?? <Nothing /> },
              { label: t('receipt.node'), value: <code className="text-xs">{data.node}</code> },
              { label: t('receipt.overrun'), value: <Money usd={data.overrunUsd} plain exact /> },
              ...costLines(data, t),
            ]}
          />
        )}
      </Loaded>
    </Dialog>
  );
}

type AdminReceiptDetail = Answer<'GET /api/console/admin/requests/{id}'>;

/** What attempts cost is left out for roles that do not see margins. */
function shownReceipt(receipt: AdminReceiptDetail) {
  if (receipt.possibleCostUsd !== null) return receipt;
  const attempts = receipt.attempts.map(({ upstream, result, reason, durationMs }) => ({
    upstream,
    result,
    reason,
    durationMs,
  }));
  return { ...receipt, attempts };
}

function costLines({ costUsd, possibleCostUsd, marginUsd }: AdminReceiptDetail, t: TFunction) {
  if (possibleCostUsd === null) return [];
  const known = (usd: string | null) =>
    usd === null ? t('receipt.costUnknown') : <Money usd={usd} plain exact />;
  return [
    { label: t('receipt.cost'), value: known(costUsd) },
    { label: t('receipt.possibleCost'), value: known(possibleCostUsd) },
    { label: t('receipt.margin'), value: known(marginUsd) },
  ];
}
