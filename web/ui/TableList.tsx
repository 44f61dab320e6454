import type { TFunction } from 'i18next';
import { useState, type ReactNode } from 'react';
import type { SearchedPage } from '../../src/console/contract.ts';
import type { ListState } from '../lib/table.ts';
import { formatTime } from '../lib/time.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from './Button.tsx';
import { Pager } from './Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from './States.tsx';
import { Table, type Column } from './Table.tsx';

/** What `usePages` returns for a list that can be searched. */
export interface TablePages<Row> {
  readonly data: { readonly pages: readonly SearchedPage<Row>[] } | undefined;
  readonly error: Error | null;
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
  readonly refetch: () => unknown;
}

interface TableListProps<Row> {
  readonly pages: TablePages<Row>;
  readonly table: ListState;
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string | number;
  readonly rowLabel?: (row: Row) => string;
  readonly onOpen?: (row: Row) => void;
  readonly empty: ReactNode;
}

/** A table that is searched, filtered and sorted by the server, page by page. */
export function TableList<Row>({ pages, table, empty, ...shown }: TableListProps<Row>) {
  if (pages.error && !pages.data)
    return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />;
  if (!pages.data) return <SkeletonRows />;
  if (isBlank(pages, table)) return empty;
  const rows = pages.data.pages.flatMap((page) => page.items);
  const [first] = pages.data.pages;
  return (
    <>
      {first?.count && tellsMore(first.count, rows.length) ? <Count {...first.count} /> : null}
      {rows.length > 0 ? (
        <Table {...shown} rows={rows} sorting={table.sorting} />
      ) : (
        <NothingFound table={table} isPart={pages.hasNextPage} />
      )}
      <Notes pages={pages} table={table} />
    </>
  );
}

/**
 * Whether there is nothing to search for. A search stays where it was used: its last answer is still shown when it is
 * cleared.
 */
export function useBlank<Row>(pages: TablePages<Row>, table: ListState): boolean {
  const [wasFiltered, setFiltered] = useState(table.isFiltered);
  if (table.isFiltered && !wasFiltered) setFiltered(true);
  return isBlank(pages, table) && !wasFiltered;
}

function isBlank<Row>({ data, hasNextPage }: TablePages<Row>, table: ListState): boolean {
  return data?.pages.every(({ items }) => items.length === 0) === true && !table.isFiltered && !hasNextPage;
}

type Count = NonNullable<SearchedPage<unknown>['count']>;

/** A search that was counted only in part may know of fewer rows than are shown. */
function tellsMore({ rows, more }: Count, shown: number): boolean {
  return shown > 0 && (!more || rows > shown);
}

/** The number of rows in the whole list, including those that are not loaded yet. */
function Count({ rows, more }: Count) {
  const { t } = useTranslation();
  return (
    <p role="status" className="px-5 py-2 text-sm text-ink-3 tabular-nums">
      {more ? t('tables.atLeast', { rows }) : t('tables.count', { count: rows })}
    </p>
  );
}

function NothingFound({ table, isPart }: { table: ListState; isPart: boolean }) {
  const { t } = useTranslation();
  return (
    <Empty
      compact
      title={t(isPart ? 'tables.nothingYet' : 'tables.nothingFound')}
      action={
        <Button reads small onClick={table.clear}>
          {t('tables.clearFilters')}
        </Button>
      }
    >
      {t('tables.nothingFoundLead')}
    </Empty>
  );
}

/** How far the search or the sorting went, if not through everything. */
function Notes<Row>({ pages, table }: Pick<TableListProps<Row>, 'pages' | 'table'>) {
  const { t, i18n } = useTranslation();
  const searchedTo = pages.data?.pages.at(-1)?.searchedTo;
  const when = searchedTo ? formatTime(searchedTo, i18n.language, 'short') : '';
  const isByTime = table.sorting.current.by === 'time';
  return (
    <>
      {when && !isByTime ? (
        <p className="border-t border-line px-5 py-3 text-center text-sm text-ink-3">
          {t('tables.sortedRows', { when })}
        </p>
      ) : null}
      <Pager
        pages={pages}
        note={when && isByTime ? t('tables.searchedTo', { when }) : loadedText(pages, t)}
      />
    </>
  );
}

/** How much of the list is loaded, where all of it was counted. */
function loadedText<Row>({ data }: TablePages<Row>, t: TFunction): string | null {
  const [first] = data?.pages ?? [];
  if (!first?.count || first.count.more || first.items.length === 0) return null;
  const shown = data?.pages.reduce((sum, { items }) => sum + items.length, 0) ?? 0;
  const { rows } = first.count;
  const pages = Math.ceil(rows / first.items.length);
  return t('tables.shown', { shown, count: rows, page: Math.min(data?.pages.length ?? 1, pages), pages });
}
