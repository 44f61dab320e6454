import type { ReactNode } from 'react';
import { classes } from '../lib/classes.ts';
import type { ChangeSearch } from '../lib/search.ts';
import { MOST_SEARCHED, type TableState } from '../lib/table.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from './Button.tsx';
import { Picker } from './Combobox.tsx';
import { TextField } from './Field.tsx';
import { Form } from './Form.tsx';

interface TableFiltersProps {
  readonly table: TableState;
  readonly searchLabel: string;
  readonly children?: ReactNode;
  readonly className?: string;
}

/** The search over a table, what else it is filtered by, and a way to clear all of it. */
export function TableFilters({ table, searchLabel, children, className }: TableFiltersProps) {
  const { t } = useTranslation();
  return (
    <Form
      role="search"
      label={searchLabel}
      className={classes('flex flex-wrap items-end gap-3', className)}
      onSubmit={() => undefined}
    >
      <TextField
        label={searchLabel}
        type="search"
        value={table.values['search'] ?? ''}
        maxLength={MOST_SEARCHED}
        onChange={(event) => table.set({ search: event.target.value }, { isTyping: true })}
        fieldClassName="w-88 max-sm:w-full"
      />
      {children}
      {table.isFiltered ? (
        <Button kind="ghost" onClick={table.clear}>
          {t('common.clear')}
        </Button>
      ) : null}
    </Form>
  );
}

interface DayFiltersProps {
  readonly values: Readonly<Record<string, string | undefined>>;
  readonly change: ChangeSearch;
}

/** From a day to a day, both inclusive. */
export function DayFilters({ values, change }: DayFiltersProps) {
  const { t } = useTranslation();
  return (
    <>
      <TextField
        label={t('requests.from')}
        type="date"
        value={values['from'] ?? ''}
        max={values['to']}
        onChange={(event) => change({ from: event.target.value })}
        fieldClassName="max-sm:w-[calc(50%-0.375rem)]"
      />
      <TextField
        label={t('requests.to')}
        type="date"
        value={values['to'] ?? ''}
        min={values['from']}
        onChange={(event) => change({ to: event.target.value })}
        fieldClassName="max-sm:w-[calc(50%-0.375rem)]"
      />
    </>
  );
}

interface TableFilterProps {
  readonly table: TableState;
  readonly field: string;
  readonly label: string;
  /** The values that occur in the rows; undefined until they are known. */
  readonly values: readonly string[] | undefined;
  readonly name: (value: string) => string;
  readonly all?: string;
}

/** One filter: it offers the values that occur, and the one in the address even if no row has it any more. */
export function TableFilter({ table, field, label, values, name, all }: TableFilterProps) {
  const { t } = useTranslation();
  const chosen = table.values[field];
  const offered = new Set(values);
  if (chosen) offered.add(chosen);
  return (
    <Picker
      label={label}
      value={chosen ?? ''}
      onChange={(value) => table.set({ [field]: value })}
      options={[
        { value: '', label: all ?? t('common.all') },
        ...[...offered].map((value) => ({ value, label: name(value) })),
      ]}
      fieldClassName="w-52 max-sm:w-full"
    />
  );
}
