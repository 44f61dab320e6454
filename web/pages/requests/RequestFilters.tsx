import { useTranslation } from 'react-i18next';
import type { ModelList } from '../../../src/console/contract.ts';
import { useApi } from '../../lib/api.ts';
import type { Option } from '../../lib/options.ts';
import type { SearchState } from '../../lib/search.ts';
import { shiftDay } from '../../lib/time.ts';
import { Button } from '../../ui/Button.tsx';
import { Picker } from '../../ui/Combobox.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';

const OUTCOMES = [
  'completed',
  'failed',
  'client_left',
  'upstream_failed',
  'cut_short',
  'expired',
  'shed',
] as const;
const FIELDS = ['endpoint', 'model', 'status', 'from', 'to'] as const;

interface RequestFiltersProps {
  readonly state: SearchState;
  readonly change: (next: Record<string, string | undefined>) => void;
}

/** Filters of the log; what they are set to is the page's address. */
export function RequestFilters({ state, change }: RequestFiltersProps) {
  const { t } = useTranslation();
  const catalog = useApi('GET /api/console/models', undefined, { staleTime: 60_000 }).data;
  const set = (field: (typeof FIELDS)[number]) => (event: { target: { value: string } }) =>
    change({ [field]: event.target.value });
  return (
    <Form className="flex flex-wrap items-end gap-3" onSubmit={() => undefined}>
      <SelectField
        label={t('requests.endpoint')}
        value={state['endpoint'] ?? ''}
        onChange={set('endpoint')}
        fieldClassName="w-40 max-sm:w-[calc(50%-0.375rem)]"
      >
        <option value="">{t('common.all')}</option>
        {named(
          catalog?.endpoints.map((endpoint) => endpoint.endpoint),
          state['endpoint'],
        )}
      </SelectField>
      <Picker
        label={t('requests.model')}
        value={state['model'] ?? ''}
        onChange={(model) => change({ model })}
        options={modelOptions(modelNames(catalog, state['endpoint']), state['model'], t('common.all'))}
        fieldClassName="w-48 max-sm:w-[calc(50%-0.375rem)]"
      />
      <SelectField
        label={t('requests.status')}
        value={state['status'] ?? ''}
        onChange={set('status')}
        fieldClassName="w-44 max-sm:w-full"
      >
        <option value="">{t('common.all')}</option>
        <option value="pending">{t('requests.states.pending')}</option>
        {OUTCOMES.map((outcome) => (
          <option key={outcome} value={outcome}>
            {t(`requests.states.${outcome}`)}
          </option>
        ))}
      </SelectField>
      <TextField
        label={t('requests.from')}
        type="date"
        value={state['from'] ?? ''}
        max={state['to']}
        onChange={set('from')}
        fieldClassName="max-sm:w-[calc(50%-0.375rem)]"
      />
      <TextField
        label={t('requests.to')}
        type="date"
        value={state['to'] ?? ''}
        min={state['from']}
        onChange={set('to')}
        fieldClassName="max-sm:w-[calc(50%-0.375rem)]"
      />
      {activeFilters(state) > 0 ? (
        <Button
          kind="ghost"
          onClick={() => change(Object.fromEntries([...FIELDS, 'zone'].map((field) => [field, undefined])))}
        >
          {t('common.clear')}
        </Button>
      ) : null}
    </Form>
  );
}

export function activeFilters(state: SearchState): number {
  return FIELDS.filter((field) => state[field]).length;
}

/** Days in the address are the reader's own days, or UTC days when they come from the usage page; the API takes moments. */
export function filterQuery(state: SearchState): Record<string, string | undefined> {
  const status = state['status'];
  const utc = state['zone'] === 'utc';
  return {
    endpoint: state['endpoint'],
    model: state['model'],
    state: status === 'pending' ? 'pending' : undefined,
    outcome: status && status !== 'pending' ? status : undefined,
    from: moment(state['from'], 0, utc),
    to: moment(state['to'], 1, utc),
  };
}

function moment(day: string | undefined, plusDays: number, utc: boolean): string | undefined {
  if (!day || !/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined;
  if (utc) return String(Date.parse(`${shiftDay(day, plusDays)}T00:00:00Z`));
  const at = new Date(`${day}T00:00:00`);
  at.setDate(at.getDate() + plusDays);
  return String(at.getTime());
}

/** What is chosen is offered, even if the catalog has it no more. */
function namesWith(values: readonly string[] | undefined, chosen: string | undefined): string[] {
  const all = new Set(values);
  if (chosen) all.add(chosen);
  return [...all];
}

function modelOptions(names: readonly string[], chosen: string | undefined, all: string): Option[] {
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

function modelNames(catalog: ModelList | undefined, endpoint: string | undefined): string[] {
  return (catalog?.models ?? [])
    .filter((model) => !endpoint || model.endpoint === endpoint)
    .map((model) => model.model);
}
