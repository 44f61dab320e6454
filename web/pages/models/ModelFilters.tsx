import type { ModelList } from '../../../src/console/contract.ts';
import type { SearchState } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';

const TYPES = { chat_completion: 'chat', image_generation: 'image', embedding: 'embedding' } as const;
const SORTS = { input: 'sortInput', output: 'sortOutput', context: 'sortContext', name: 'sortName' } as const;

const ABILITIES = ['vision', 'tools', 'reasoning'] as const;

interface ModelFiltersProps {
  readonly catalog: ModelList;
  readonly state: SearchState;
  readonly change: (next: Record<string, string | undefined>) => void;
}

export function ModelFilters({ catalog, state, change }: ModelFiltersProps) {
  const { t } = useTranslation();
  const field = (name: string) => ({
    value: state[name] ?? '',
    onChange: (event: { target: { value: string } }) => change({ [name]: event.target.value }),
  });
  const types = Object.entries(TYPES).filter(([type]) => catalog.models.some((model) => model.type === type));
  const all = <option value="">{t('common.all')}</option>;
  return (
    <Form role="search" className="flex flex-wrap items-end gap-3" onSubmit={() => undefined}>
      <TextField label={t('models.search')} type="search" {...field('q')} fieldClassName="w-full sm:w-72" />
      <SelectField
        label={t('models.kind')}
        {...field('type')}
        fieldClassName="w-32 max-sm:w-[calc(50%-0.375rem)]"
      >
        {all}
        {types.map(([type, label]) => (
          <option key={type} value={type}>
            {t(`models.${label}`)}
          </option>
        ))}
      </SelectField>
      <SelectField
        label={t('models.endpoint')}
        {...field('endpoint')}
        fieldClassName="w-40 max-sm:w-[calc(50%-0.375rem)]"
      >
        {all}
        {catalog.endpoints.map((endpoint) => (
          <option key={endpoint.endpoint}>{endpoint.endpoint}</option>
        ))}
      </SelectField>
      <SelectField
        label={t('models.can')}
        {...field('can')}
        fieldClassName="w-32 max-sm:w-[calc(50%-0.375rem)]"
      >
        {all}
        {ABILITIES.map((ability) => (
          <option key={ability} value={ability}>
            {t(`models.${ability}`)}
          </option>
        ))}
      </SelectField>
      <SelectField
        label={t('models.sort')}
        {...field('sort')}
        fieldClassName="w-40 max-sm:w-[calc(50%-0.375rem)]"
      >
        <option value="">{t('models.sortCatalog')}</option>
        {Object.entries(SORTS).map(([sort, label]) => (
          <option key={sort} value={sort}>
            {t(`models.${label}`)}
          </option>
        ))}
      </SelectField>
    </Form>
  );
}
