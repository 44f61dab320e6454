import type { TFunction } from 'i18next';
import { memo, useCallback, useLayoutEffect, useMemo, useRef, type ReactNode } from 'react';
import { classes } from '../lib/classes.ts';
import { useNarrow } from '../lib/media.ts';
import type { Sorting } from '../lib/table.ts';
import { useTranslation } from '../lib/translation.tsx';
import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import { Button } from './Button.tsx';
import { SelectField } from './Field.tsx';

export interface Column<Row> {
  readonly id: string;
  readonly header: ReactNode;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'right';
  /** The place of the value when rows become cards: the card's first line, its right end, or the labelled list. */
  readonly card?: 'title' | 'aside' | 'hidden';
  readonly className?: string;
  /** The column can be sorted, in this direction first. */
  readonly sortsFirst?: 'ascending' | 'descending';
  readonly sortsOneWay?: boolean;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string | number;
  readonly onOpen?: ((row: Row) => void) | undefined;
  readonly rowLabel?: ((row: Row) => string) | undefined;
  /** Undefined if the rows have only one order. */
  readonly sorting?: Sorting | undefined;
}

/** The same columns until another language is chosen: rows that stay are then not rendered again with their page. */
export function useColumns<Row>(columnsIn: (t: TFunction) => readonly Column<Row>[]): readonly Column<Row>[] {
  const { t } = useTranslation();
  return useMemo(() => columnsIn(t), [columnsIn, t]);
}

/** A table; on a phone, the same rows as cards. A row that opens something is reachable and openable by keyboard. */
export function Table<Row>({ onOpen, ...props }: TableProps<Row>) {
  const { t } = useTranslation();
  const opened = useRef(onOpen);
  useLayoutEffect(() => {
    opened.current = onOpen;
  });
  const open = useCallback((row: Row) => opened.current?.(row), []);
  const { rows, rowKey, rowLabel, columns } = props;
  const shown = rows.map((row) => ({
    key: rowKey(row),
    row,
    columns,
    ...(onOpen ? { onOpen: open, label: rowLabel?.(row) ?? t('common.open') } : {}),
  }));
  return useNarrow() ? <Cards {...props} rows={shown} /> : <Grid {...props} rows={shown} />;
}

interface RowProps<Row> {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly onOpen?: (row: Row) => void;
  /** What opening it is called. */
  readonly label?: string;
}

type ShownProps<Row> = Pick<TableProps<Row>, 'label' | 'columns' | 'sorting'> & {
  readonly rows: readonly (RowProps<Row> & { readonly key: string | number })[];
};

function Grid<Row>({ label, columns, rows, sorting }: ShownProps<Row>) {
  return (
    <div
      className="thin-scroll scroll-cue relative overflow-x-auto rounded-lg not-first:rounded-t-none [header+*>&]:rounded-t-none"
      role="region"
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
      tabIndex={0}
    >
      <table className="w-full border-collapse text-sm">
        <thead>
          <tr className="border-y border-line first:border-t-0">
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                aria-sort={sorting && column.sortsFirst ? sortState(column.id, sorting) : undefined}
                className={classes(
                  'px-3 py-2 text-xs font-medium text-ink-3 first:pl-5 last:pr-5',
                  // A long name above short figures breaks before the table becomes wider than its place.
                  column.align === 'right' ? 'text-right text-balance' : 'text-left whitespace-nowrap',
                )}
              >
                {sorting && column.sortsFirst ? (
                  <SortButton column={column} sorting={sorting}>
                    {column.header}
                  </SortButton>
                ) : (
                  column.header
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, ...row }) => (
            <GridRow key={key} {...row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const GridRow = memo(function GridRow<Row>({ row, columns, onOpen, label }: RowProps<Row>) {
  return (
    <tr
      className={classes('border-b border-line last:border-b-0', onOpen && 'row-opens')}
      onClick={(event) => onOpen && !isControl(event.target) && onOpen(row)}
    >
      {columns.map((column, index) => (
        <td
          key={column.id}
          className={classes(
            'relative px-3 py-2.5 align-middle first:pl-5 last:pr-5',
            column.align === 'right' && 'text-right',
            column.className,
          )}
        >
          {onOpen && index === 0 ? (
            <OpenButton label={label} onOpen={() => onOpen(row)} className="absolute inset-0 w-full" />
          ) : null}
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}) as <Row>(props: RowProps<Row>) => ReactNode;

function Cards<Row>({ label, columns, rows, sorting }: ShownProps<Row>) {
  return (
    <>
      {sorting && columns.some(({ sortsFirst }) => sortsFirst) ? (
        <SortMenu columns={columns} sorting={sorting} />
      ) : null}
      <ul aria-label={label} className="divide-y divide-line border-t border-line">
        {rows.map(({ key, ...row }) => (
          <CardRow key={key} {...row} />
        ))}
      </ul>
    </>
  );
}

const CardRow = memo(function CardRow<Row>({ row, columns, onOpen, label }: RowProps<Row>) {
  const at = (place: Column<Row>['card']): Column<Row>[] => columns.filter(({ card }) => card === place);
  return (
    <li className="row-card relative px-5 py-3.5">
      {onOpen ? <OpenButton label={label} onOpen={() => onOpen(row)} className="absolute inset-0" /> : null}
      <div className="flex items-baseline justify-between gap-3">
        <div className="min-w-0 font-medium">
          {at('title').map((column) => (
            <div key={column.id}>{column.cell(row)}</div>
          ))}
        </div>
        <div className="shrink-0 text-right">
          {at('aside').map((column) => (
            <div key={column.id}>{column.cell(row)}</div>
          ))}
        </div>
      </div>
      <dl className="mt-2 grid grid-cols-2 gap-x-4 gap-y-1.5 text-sm empty:hidden">
        {at(undefined).map((column) => (
          <div key={column.id} className="min-w-0">
            <dt className="text-xs text-ink-3">{column.header}</dt>
            <dd className="min-w-0">{column.cell(row)}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}) as <Row>(props: RowProps<Row>) => ReactNode;

function sortState(id: string, { current }: Sorting): 'ascending' | 'descending' | 'none' {
  if (current.by !== id) return 'none';
  return current.descending ? 'descending' : 'ascending';
}

interface OpenButtonProps {
  readonly label: string | undefined;
  readonly onOpen: () => void;
  readonly className: string;
}

/** The row's action for keyboards and screen readers: a real button, named after the row. */
function OpenButton({ label, onOpen, className }: OpenButtonProps) {
  return (
    <button type="button" className={classes('row-open', className)} aria-label={label} onClick={onOpen} />
  );
}

/** A click on a link or button within the row is meant for that. */
function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, select, label') !== null;
}

interface SortedColumn {
  readonly id: string;
  readonly header: ReactNode;
  readonly sortsFirst?: 'ascending' | 'descending';
  readonly sortsOneWay?: boolean;
  readonly align?: 'right';
}

interface SortButtonProps {
  readonly column: SortedColumn;
  readonly sorting: Sorting;
  readonly children: ReactNode;
}

/** The header of a sortable column. The direction itself is the `aria-sort` of its cell. */
function SortButton({ column, sorting: { current, change }, children }: SortButtonProps) {
  const isCurrent = current.by === column.id;
  const descendsFirst = column.sortsFirst === 'descending';
  const turns = isCurrent && column.sortsOneWay !== true;
  const Arrow = (isCurrent ? current.descending : descendsFirst) ? ArrowDown : ArrowUp;
  return (
    <button
      type="button"
      className={classes(
        'group -mx-1 inline-flex items-center gap-1 rounded px-1 py-0.5 font-medium hover:text-ink',
        isCurrent && 'text-ink',
        // The arrow is on the outside, so that the word stays above its figures.
        column.align === 'right' && 'flex-row-reverse',
      )}
      onClick={() => change({ by: column.id, descending: turns ? !current.descending : descendsFirst })}
    >
      {children}
      <Arrow
        size={12}
        aria-hidden
        className={classes(
          'shrink-0',
          !isCurrent && 'opacity-0 group-hover:opacity-60 group-focus-visible:opacity-60',
        )}
      />
    </button>
  );
}

interface SortMenuProps {
  readonly columns: readonly SortedColumn[];
  readonly sorting: Sorting;
}

/** The same for rows that are shown as cards and have no headers. */
function SortMenu({ columns, sorting: { current, change } }: SortMenuProps) {
  const { t } = useTranslation();
  const offered = columns.filter((column) => column.sortsFirst);
  const turns = offered.find(({ id }) => id === current.by)?.sortsOneWay !== true;
  return (
    <div className="flex items-end gap-2 px-5 py-3">
      <SelectField
        label={t('tables.sortBy')}
        value={current.by}
        fieldClassName="min-w-0 flex-1"
        onChange={(event) => {
          const column = offered.find(({ id }) => id === event.target.value);
          if (column) change({ by: column.id, descending: column.sortsFirst === 'descending' });
        }}
      >
        {offered.map((column) => (
          <option key={column.id} value={column.id}>
            {column.header}
          </option>
        ))}
      </SelectField>
      <Button
        reads
        disabled={!turns}
        aria-label={t(current.descending ? 'tables.descending' : 'tables.ascending')}
        onClick={() => change({ by: current.by, descending: !current.descending })}
        icon={current.descending ? <ArrowDown size={14} aria-hidden /> : <ArrowUp size={14} aria-hidden />}
      />
    </div>
  );
}
