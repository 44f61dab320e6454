import type { ReactNode } from 'react';
import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import { classes } from '../lib/classes.ts';
import type { Sorting } from '../lib/table.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from './Button.tsx';
import { SelectField } from './Field.tsx';

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
export function SortButton({ column, sorting: { current, change }, children }: SortButtonProps) {
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
export function SortMenu({ columns, sorting: { current, change } }: SortMenuProps) {
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
        disabled={!turns}
        aria-label={t(current.descending ? 'tables.descending' : 'tables.ascending')}
        onClick={() => change({ by: current.by, descending: !current.descending })}
        icon={current.descending ? <ArrowDown size={14} aria-hidden /> : <ArrowUp size={14} aria-hidden />}
      />
    </div>
  );
}
