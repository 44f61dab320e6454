import X from 'lucide-react/icons/x';
import type { Answer } from '../../../src/console/contract/routes.ts';
import type { Option } from '../../lib/options.ts';
import type { ChangeSearch, SearchState } from '../../lib/search.ts';
import { readSort, sortingOf, sortText, type ListState, useSettled } from '../../lib/table.ts';
import { localToday, shiftDay, useToday } from '../../lib/time.ts';
import { Button } from '../../ui/Button.tsx';
import { Picker } from '../../ui/Combobox.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { DayRangeField } from '../../ui/TableFilters.tsx';
import { useTranslation } from '../../lib/translation.tsx';
import { REQUEST_SORTS } from './columns.tsx';

type RequestValues = Answer<'GET /api/console/request-values'>;

const SETTLE_MS = 250;
const OUTCOMES = [
  'completed',
  'failed',
  'client_left',
  'upstream_failed',
  'cut_short',
  'expired',
  'shed',
] as const;
const FIELDS = ['search', 'endpoint', 'model', 'status', 'from', 'to', 'client', 'backend'] as const;
/** The account filter of the operator's list has a line of its own. */
const FILTERED_BY = [...FIELDS, 'account'];

interface RequestFiltersProps {
  readonly state: SearchState;
  readonly change: ChangeSearch;
  readonly searchLabel: string;
  /** The values that occur; undefined until they are known. */
  readonly values: RequestValues | undefined;
}

/** The filters of the log, which offer values that occur in it; their state is the page's address. */
export function RequestFilters({ state, change, searchLabel, values }: RequestFiltersProps) {
  const { t } = useTranslation();
  const table = requestTable(state, change);
  const utcToday = useToday();
  const all = (label: string): string => t('tables.allOf', { label });
  const set = (field: (typeof FIELDS)[number]) => (event: { target: { value: string } }) =>
    change({ [field]: event.target.value });
  return (
    <Form role="search" className="flex flex-wrap items-end gap-3" onSubmit={() => undefined}>
      <TextField
        label={searchLabel}
        hideLabel
        placeholder={searchLabel}
        type="search"
        value={state['search'] ?? ''}
        maxLength={100}
        onChange={(event) => change({ search: event.target.value }, { isTyping: true })}
        fieldClassName="min-w-52 max-w-88 flex-1 max-sm:w-full max-sm:max-w-none max-sm:flex-none"
      />
      <SelectField
        label={t('requests.endpoint')}
        hideLabel
        value={state['endpoint'] ?? ''}
        onChange={set('endpoint')}
        fieldClassName="w-40 max-sm:w-[calc(50%-0.375rem)]"
      >
        <option value="">{all(t('requests.endpoint'))}</option>
        {named(values?.endpoints, state['endpoint'])}
      </SelectField>
      <Picker
        label={t('requests.model')}
        hideLabel
        value={state['model'] ?? ''}
        onChange={(model) => change({ model })}
        options={modelOptions(values?.models, state['model'], all(t('requests.model')))}
        fieldClassName="w-48 max-sm:w-[calc(50%-0.375rem)]"
      />
      <StatusFilter value={state['status']} onChange={set('status')} />
      <DayRangeField
        canBeAny
        range={state}
        today={state['zone'] === 'utc' ? utcToday : localToday()}
        change={change}
      />
      <Chip
        label={t('requests.client')}
        value={state['client']}
        onClear={() => change({ client: undefined })}
      />
      <Chip
        label={t('requests.backend')}
        value={state['backend']}
        onClear={() => change({ backend: undefined })}
      />
      {table.isFiltered ? (
        <Button kind="ghost" onClick={table.clear}>
          {t('common.clear')}
        </Button>
      ) : null}
    </Form>
  );
}

interface StatusFilterProps {
  readonly value: string | undefined;
  readonly onChange: (event: { target: { value: string } }) => void;
}

function StatusFilter({ value = '', onChange }: StatusFilterProps) {
  const { t } = useTranslation();
  const label = t('requests.status');
  return (
    <SelectField
      label={label}
      hideLabel
      value={value}
      onChange={onChange}
      fieldClassName="w-44 max-sm:w-[calc(50%-0.375rem)]"
    >
      <option value="">{t('tables.allOf', { label })}</option>
      <option value="pending">{t('requests.states.pending')}</option>
      {OUTCOMES.map((outcome) => (
        <option key={outcome} value={outcome}>
          {t(`requests.states.${outcome}`)}
        </option>
      ))}
    </SelectField>
  );
}

interface ChipProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onClear: () => void;
}

/** A filter that another page set and that has no field here. */
function Chip({ label, value, onClear }: ChipProps) {
  const { t } = useTranslation();
  if (!value) return null;
  return (
    <Button
      className="max-w-72"
      icon={<X size={14} aria-hidden className="order-last shrink-0" />}
      aria-label={t('tables.removeFilter', { label, value })}
      onClick={onClear}
    >
      <span className="truncate">
        {label}: {value}
      </span>
    </Button>
  );
}

export function requestTable(state: SearchState, change: ChangeSearch): ListState {
  return {
    sorting: sortingOf(state, change, REQUEST_SORTS),
    isFiltered: FILTERED_BY.some((field) => state[field]),
    clear: () => change(Object.fromEntries([...FILTERED_BY, 'zone'].map((field) => [field, undefined]))),
  };
}

export function requestSort(state: SearchState): string | undefined {
  const { offered, usual } = REQUEST_SORTS;
  return sortText(readSort(state['sort'], offered, usual), usual);
}

/**
 * Days in the address are the reader's own days, or UTC days when they come from a page that counts by them. The API takes
 * moments, both inclusive.
 */
export function filterQuery(state: SearchState): Record<string, string | undefined> {
  const status = state['status'];
  const utc = state['zone'] === 'utc';
  return {
    search: (state['search']?.trim().length ?? 0) < 2 ? undefined : state['search'],
    client: state['client'],
    endpoint: state['endpoint'],
    model: state['model'],
    state: status === 'pending' ? 'pending' : undefined,
    outcome: status && status !== 'pending' ? status : undefined,
    from: isDay(state['from']) ? String(startOf(state['from'], utc)) : undefined,
    to: isDay(state['to']) ? String(startOf(shiftDay(state['to'], 1), utc) - 1) : undefined,
  };
}

function isDay(day: string | undefined): day is string {
  return day !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day));
}

function startOf(day: string, utc: boolean): number {
  return Date.parse(`${day}T00:00:00${utc ? 'Z' : ''}`);
}

/** The chosen value is always offered, even if the catalog no longer has it. */
function namesWith(values: readonly string[] | undefined, chosen: string | undefined): string[] {
  const all = new Set(values);
  if (chosen) all.add(chosen);
  return [...all];
}

function modelOptions(
  names: readonly string[] | undefined,
  chosen: string | undefined,
  all: string,
): Option[] {
  const named = namesWith(names, chosen).map((value) => ({ value, label: value }));
  return [{ value: '', label: all }, ...named];
}

function named(values: readonly string[] | undefined, chosen: string | undefined) {
  return namesWith(values, chosen).map((value) => (
    <option key={value} value={value}>
      {value}
    </option>
  ));
}

/** The filters once typing has stopped: not every letter is worth a search. */
export function useSettledFilters(state: SearchState): Record<string, string | undefined> {
  const search = useSettled(state['search'] ?? '', SETTLE_MS);
  return filterQuery({ ...state, search });
}
