import { useDeferredValue, useMemo } from 'react';
import { useLocation } from 'wouter';
import type { ModelItem, ModelList } from '../../lib/answers.ts';
import { useSearchState, type SearchState } from '../../lib/search.ts';
import { useShownRows } from '../../lib/pages.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useModels } from '../../lib/wallet.ts';
import { LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { ShowMore } from '../../ui/Pager.tsx';
import { Empty, Loaded, SkeletonRows } from '../../ui/States.tsx';
import { Table } from '../../ui/Table.tsx';
import { Time } from '../../ui/Time.tsx';
import { modelColumns, modelHref } from './columns.tsx';
import { FoldedDemos } from './FoldedDemos.tsx';
import { groupModels, type ModelGroup, filterModels } from './group.ts';

/** About two screens; a certain model is found by searching. */
const FIRST = 25;

export default function ModelsPage() {
  const { t } = useTranslation();
  const catalog = useModels({ staleTime: 30_000 });
  return (
    <Page wide title={t('models.title')} lead={t('models.lead')}>
      <Loaded query={catalog} skeleton={<SkeletonRows rows={8} />}>
        {(data) =>
          data.models.length === 0 ? (
            <Card>
              <Empty title={t('models.nothing')}>{t('models.nothingLead')}</Empty>
            </Card>
          ) : (
            <Shown catalog={data} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Shown({ catalog }: { catalog: ModelList }) {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  // Keeps typing quick however long the list is: the rows follow when there is time.
  const wanted = useDeferredValue(JSON.stringify(state));
  const groups = useMemo(
    () => groupModels(filterModels(catalog.models, JSON.parse(wanted) as SearchState)),
    [catalog.models, wanted],
  );
  // Whoever searches finds them all.
  const isSearched = SEARCHES.some((name) => state[name]);
  const demos = isSearched ? [] : groups.filter(({ best }) => best.isDemo);
  const sold = groups.filter((one) => !demos.includes(one));
  return (
    <>
      <Announced models={catalog.models} />
      <ModelFilters catalog={catalog} state={state} change={change} />
      <p className="-mb-2 text-sm text-ink-3" role="status">
        {t('models.count', { count: sold.length })}
      </p>
      <Models groups={sold} list={wanted} catalog={catalog} />
      <FoldedDemos count={demos.length}>
        <Models groups={demos} list="" catalog={catalog} />
      </FoldedDemos>
    </>
  );
}

const SEARCHES = ['q', 'type', 'endpoint', 'can'] as const;

interface ModelsProps {
  readonly groups: readonly ModelGroup[];
  /** When this changes, the rows start from the top. */
  readonly list: string;
  readonly catalog: ModelList;
}

function Models({ groups, list, catalog }: ModelsProps) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const { rows, ...more } = useShownRows(groups, list, FIRST);
  const status = new Map(catalog.endpoints.map((endpoint) => [endpoint.endpoint, endpoint.status]));
  const actions = ({ best }: ModelGroup) =>
    best.unavailable ? null : (
      <LinkButton small href={tryHref(best)}>
        {t('models.try')}
      </LinkButton>
    );
  return (
    <Card flush>
      {groups.length === 0 ? (
        <Empty title={t('models.empty')}>{t('models.emptyLead')}</Empty>
      ) : (
        <Table
          label={t('models.title')}
          columns={modelColumns(t, status, actions)}
          rows={rows}
          rowKey={(group) => group.id}
          rowLabel={(group) => group.best.displayName}
          onOpen={(group) => navigate(modelHref(group.best))}
        />
      )}
      <ShowMore {...more} isSearched />
    </Card>
  );
}

/** A notice that prices will change; each model's row and page show the new ones. */
function Announced({ models }: { models: readonly ModelItem[] }) {
  const { t } = useTranslation();
  const changing = models.filter(({ next }) => next !== null);
  const [first] = changing;
  const count = new Set(changing.map(({ model }) => model)).size;
  if (!first?.next) return null;
  return (
    <p className="rounded-md border border-warn-line bg-warn-soft px-4 py-3 text-warn">
      {t('models.pricesChange', { count })} <Time at={first.next.from} style="full" />
    </p>
  );
}

export function tryHref(model: ModelItem): string {
  const tab = model.type === 'image_generation' ? '&tab=images' : '';
  return `/app/playground?model=${encodeURIComponent(`${model.endpoint} ${model.model}`)}${tab}`;
}

const TYPES = {
  chat_completion: 'chat',
  image_generation: 'image',
  embedding: 'embedding',
  moderation: 'moderation',
} as const;
const SORTS = { input: 'sortInput', output: 'sortOutput', context: 'sortContext', name: 'sortName' } as const;

const ABILITIES = ['vision', 'tools', 'reasoning'] as const;

function AbilityFilter(field: {
  readonly value: string;
  readonly onChange: (event: { target: { value: string } }) => void;
}) {
  const { t } = useTranslation();
  const label = t('models.can');
  return (
    <SelectField label={label} hideLabel {...field} fieldClassName="w-40 max-sm:w-[calc(50%-0.375rem)]">
      <option value="">{t('tables.allOf', { label })}</option>
      {ABILITIES.map((ability) => (
        <option key={ability} value={ability}>
          {t(`models.${ability}`)}
        </option>
      ))}
    </SelectField>
  );
}

interface ModelFiltersProps {
  readonly catalog: ModelList;
  readonly state: SearchState;
  readonly change: (next: Record<string, string | undefined>) => void;
}

function ModelFilters({ catalog, state, change }: ModelFiltersProps) {
  const { t } = useTranslation();
  const field = (name: string) => ({
    value: state[name] ?? '',
    onChange: (event: { target: { value: string } }) => change({ [name]: event.target.value }),
  });
  const types = Object.entries(TYPES).filter(([type]) => catalog.models.some((model) => model.type === type));
  const sortedBy = (order: 'sortCatalog' | (typeof SORTS)[keyof typeof SORTS]): string =>
    `${t('models.sort')}: ${t(`models.${order}`)}`;
  const all = (label: string) => <option value="">{t('tables.allOf', { label })}</option>;
  return (
    <Form role="search" className="flex flex-wrap items-end gap-3" onSubmit={() => undefined}>
      <TextField
        label={t('models.search')}
        hideLabel
        placeholder={t('models.search')}
        type="search"
        {...field('q')}
        fieldClassName="w-full sm:w-60"
      />
      <SelectField
        label={t('models.kind')}
        hideLabel
        {...field('type')}
        fieldClassName="w-32 max-sm:w-[calc(50%-0.375rem)]"
      >
        {all(t('models.kind'))}
        {types.map(([type, label]) => (
          <option key={type} value={type}>
            {t(`models.${label}`)}
          </option>
        ))}
      </SelectField>
      <SelectField
        label={t('models.endpoint')}
        hideLabel
        {...field('endpoint')}
        fieldClassName="w-40 max-sm:w-[calc(50%-0.375rem)]"
      >
        {all(t('models.endpoint'))}
        {catalog.endpoints.map(({ endpoint }) => (
          <option key={endpoint}>{endpoint}</option>
        ))}
      </SelectField>
      <AbilityFilter {...field('can')} />
      <SelectField
        label={t('tables.sortBy')}
        hideLabel
        {...field('sort')}
        fieldClassName="w-48 max-sm:w-[calc(50%-0.375rem)]"
      >
        <option value="">{sortedBy('sortCatalog')}</option>
        {Object.entries(SORTS).map(([sort, label]) => (
          <option key={sort} value={sort}>
            {sortedBy(label)}
          </option>
        ))}
      </SelectField>
    </Form>
  );
}
