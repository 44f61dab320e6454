import { useState } from 'react';
import Download from 'lucide-react/icons/download';
import { urlOf, useApi } from '../../lib/api.ts';
import { usePages } from '../../lib/pages.ts';
import { useSearchState } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Empty } from '../../ui/States.tsx';
import { Switch } from '../../ui/Field.tsx';
import { useColumns } from '../../ui/Table.tsx';
import { TableList, useBlank } from '../../ui/TableList.tsx';
import { requestColumns } from './columns.tsx';
import { RequestFilters, requestSort, requestTable, useSettledFilters } from './RequestFilters.tsx';
import { ReceiptSheet } from './ReceiptSheet.tsx';

const LIVE_MS = 3000;

export default function RequestsPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const [live, setLive] = useState(false);
  const query = useSettledFilters(state);
  const table = requestTable(state, change);
  const values = useApi('GET /api/console/request-values', undefined, { staleTime: 60_000 }).data;
  const pages = usePages('GET /api/console/requests', {
    query: { ...query, sort: requestSort(state) },
    refetchInterval: live ? LIVE_MS : false,
  });
  const hasNothing = useBlank(pages, table);
  return (
    <Page
      wide
      title={t('requests.title')}
      lead={t('requests.lead')}
      actions={
        <>
          <Switch label={t('requests.live')} checked={live} onChange={setLive} />
          <a
            href={urlOf('GET /api/console/requests.csv', { query })}
            download
            className="inline-flex h-8 items-center gap-2 rounded-md border border-line bg-surface px-3 text-sm font-medium hover:bg-hover"
          >
            <Download size={14} aria-hidden />
            {t('requests.export')}
          </a>
        </>
      }
    >
      {hasNothing ? null : (
        <RequestFilters
          state={state}
          change={change}
          values={values}
          searchLabel={t('tables.searchRequests')}
        />
      )}
      <Card flush>
        <TableList
          pages={pages}
          table={table}
          label={t('requests.title')}
          columns={useColumns(requestColumns)}
          rowKey={(row) => row.id}
          rowLabel={(row) => t('requests.openReceipt', { id: row.id })}
          onOpen={(row) => change({ id: row.id })}
          empty={
            <Empty
              title={t('requests.empty')}
              action={
                <LinkButton href="/app/quickstart" kind="primary">
                  {t('nav.quickstart')}
                </LinkButton>
              }
            >
              {t('requests.emptyLead')}
            </Empty>
          }
        />
      </Card>
      <ReceiptSheet id={state['id']} onClose={() => change({ id: undefined })} />
    </Page>
  );
}
