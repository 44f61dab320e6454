import { useState, type ReactNode } from 'react';
import { classes } from '../lib/classes.ts';
import { MOST_SEARCHED, type TableState } from '../lib/table.ts';
import { shiftDay } from '../lib/time.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from './Button.tsx';
import { Picker } from './Combobox.tsx';
import { Input, SelectField, TextField } from './Field.tsx';
import { Form } from './Form.tsx';

interface TableFiltersProps {
  readonly table: TableState;
  readonly searchLabel: string;
  readonly children?: ReactNode;
  readonly className?: string;
}

/** The search over a table, what else it is filtered by, and a way to clear all of it. Labels are inside their fields. */
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
        hideLabel
        placeholder={searchLabel}
        type="search"
        value={table.values['search'] ?? ''}
        maxLength={MOST_SEARCHED}
        onChange={(event) => table.set({ search: event.target.value }, { isTyping: true })}
        fieldClassName="w-88 max-sm:w-full"
      />
      {children}
      {table.isFiltered ? (
        <Button reads kind="ghost" onClick={table.clear}>
          {t('common.clear')}
        </Button>
      ) : null}
    </Form>
  );
}

interface DayRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

interface DayRangeFieldProps {
  /** UTC days or the reader's own, as its page counts them; both inclusive. */
  readonly range: DayRange;
  readonly today: string;
  readonly change: (range: { from: string | undefined; to: string | undefined }) => void;
  /** Where no range means all days. */
  readonly canBeAny?: boolean;
}

const LAST_DAYS = [1, 7, 30, 90];
const ANY = 'any';
const CUSTOM = 'custom';

/** The last days, or those from one to another: every list and report asks for days in this one way. */
export function DayRangeField({ range, today, change, canBeAny = false }: DayRangeFieldProps) {
  const { t } = useTranslation();
  const [isCustom, setCustom] = useState(false);
  const shown = isCustom ? CUSTOM : choiceOf(range, today);
  const choose = (choice: string): void => {
    setCustom(choice === CUSTOM);
    if (choice === ANY) change({ from: undefined, to: undefined });
    else if (choice !== CUSTOM) change({ from: shiftDay(today, 1 - Number(choice)), to: today });
  };
  return (
    <fieldset
      className={classes(
        'flex min-w-0 flex-wrap items-center rounded-md border border-field bg-surface max-sm:min-w-[calc(50%-0.375rem)] max-sm:flex-1 [&_:is(input,select)]:h-8.5 [&_:is(input,select)]:border-0 [&_:is(input,select)]:bg-transparent',
        shown === CUSTOM && 'max-sm:basis-full',
      )}
    >
      <legend className="sr-only">{t('tables.days')}</legend>
      <SelectField
        label={t('tables.days')}
        hideLabel
        value={shown}
        onChange={(event) => choose(event.target.value)}
        fieldClassName="min-w-36 max-sm:flex-1"
      >
        {canBeAny ? <option value={ANY}>{t('tables.anyTime')}</option> : null}
        {LAST_DAYS.map((count) => (
          <option key={count} value={count}>
            {count === 1 ? t('common.today') : t('usage.last', { count })}
          </option>
        ))}
        <option value={CUSTOM}>{t('usage.custom')}</option>
      </SelectField>
      {shown === CUSTOM
        ? (['from', 'to'] as const).map((end) => (
            <label
              key={end}
              className="flex min-w-0 items-center border-l border-line pl-3 text-sm text-ink-3 max-sm:flex-1 max-sm:basis-full max-sm:border-t max-sm:border-l-0"
            >
              {t(`tables.${end}`)}
              <Input
                type="date"
                value={range[end] ?? ''}
                {...(end === 'from' ? { max: range.to } : { min: range.from })}
                onChange={(event) => change({ from: range.from, to: range.to, [end]: event.target.value })}
              />
            </label>
          ))
        : null}
    </fieldset>
  );
}

function choiceOf({ from, to }: DayRange, today: string): string {
  if (!from && !to) return ANY;
  const last = LAST_DAYS.find((days) => from === shiftDay(today, 1 - days));
  return last !== undefined && (!to || to === today) ? String(last) : CUSTOM;
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
      hideLabel
      value={chosen ?? ''}
      onChange={(value) => table.set({ [field]: value })}
      options={[
        { value: '', label: all ?? t('tables.allOf', { label }) },
        ...[...offered].map((value) => ({ value, label: name(value) })),
      ]}
      fieldClassName="w-52 max-sm:w-full"
    />
  );
}
