import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import Download from 'lucide-react/icons/download';
import { urlOf, useApi } from '../../lib/api.ts';
import { usePages } from '../../lib/pages.ts';
import { useSearchState } from '../../lib/search.ts';
import { sortingOf, sortText, type Sorting } from '../../lib/sort.ts';
import { formatTime } from '../../lib/time.ts';
import { LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx';
import { Switch } from '../../ui/Switch.tsx';
import { Table } from '../../ui/Table.tsx';
import { REQUEST_SORTS, requestColumns } from './columns.tsx';
import { SortedNote } from './SortedNote.tsx';
import { activeFilters, RequestFilters, useSettledFilters } from './RequestFilters.tsx';
import { ReceiptSheet } from './ReceiptSheet.tsx';

const LIVE_MS = 3000;

export default function RequestsPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const [live, setLive] = useState(false);
  const query = useSettledFilters(state);
  const values = useApi('GET /api/console/request-values', undefined, { staleTime: 60_000 }).data;
  const sorting = sortingOf(state, change, REQUEST_SORTS);
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
      <RequestFilters
        state={state}
        change={change}
        values={values}
        searchLabel={t('tables.searchRequests')}
      />
      <RequestList
        query={query}
        sorting={sorting}
        live={live}
        filtered={activeFilters(state) > 0}
        onOpen={(id) => change({ id })}
      />
      <ReceiptSheet id={state['id']} onClose={() => change({ id: undefined })} />
    </Page>
  );
}

interface RequestListProps {
  readonly query: Record<string, string | undefined>;
  readonly sorting: Sorting;
  readonly live: boolean;
  readonly filtered: boolean;
  readonly onOpen: (id: string) => void;
}

function RequestList({ query, sorting, live, filtered, onOpen }: RequestListProps) {
  const { t, i18n } = useTranslation();
  const pages = usePages('GET /api/console/requests', {
    query: { ...query, sort: sortText(sorting.current, REQUEST_SORTS.usual) },
    refetchInterval: live ? LIVE_MS : false,
  });
  if (pages.error && !pages.data)
    return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />;
  if (!pages.data) return <SkeletonRows rows={10} />;
  const rows = pages.data.pages.flatMap((page) => page.items);
  const searchedTo = pages.data.pages.at(-1)?.searchedTo;
  const when = searchedTo ? formatTime(searchedTo, i18n.language, 'short') : '';
  return (
    <Card flush>
      {rows.length > 0 ? (
        <Table
          label={t('requests.title')}
          columns={requestColumns(t)}
          rows={rows}
          rowKey={(row) => row.id}
          rowLabel={(row) => t('requests.openReceipt', { id: row.id })}
          onOpen={(row) => onOpen(row.id)}
          sorting={sorting}
        />
      ) : filtered ? (
        <Empty title={t('requests.emptyFiltered')}>
          {when ? t('requests.emptyFilteredLead', { when }) : null}
        </Empty>
      ) : (
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
      )}
      <SortedNote sorting={sorting} when={when} />
      <Pager
        pages={pages}
        note={filtered && when && sorting.current.by === 'time' ? t('requests.searched', { when }) : null}
      />
    </Card>
  );
}
