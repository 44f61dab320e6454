import { useDeferredValue, useMemo } from 'react';
import { useLocation } from 'wouter';
import type { ModelItem, ModelList } from '../../../src/console/contract.ts';
import { useApi } from '../../lib/api.ts';
import { useSearchState, type SearchState } from '../../lib/search.ts';
import { useShownRows } from '../../lib/shown.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { ShowMore } from '../../ui/Pager.tsx';
import { Empty, Loaded, SkeletonRows } from '../../ui/States.tsx';
import { Table } from '../../ui/Table.tsx';
import { modelColumns, modelHref } from './columns.tsx';
import { filterModels } from './filter.ts';
import { groupModels, type ModelGroup } from './group.ts';
import { ModelFilters } from './ModelFilters.tsx';

/** Two screens; whoever looks for a certain model searches. */
const FIRST = 25;

export default function ModelsPage() {
  const { t } = useTranslation();
  const catalog = useApi('GET /api/console/models', undefined, { staleTime: 30_000 });
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
  const [, navigate] = useLocation();
  const [state, change] = useSearchState();
  // Typing stays quick whatever the length of the list: the rows follow when there is time.
  const wanted = useDeferredValue(JSON.stringify(state));
  const groups = useMemo(
    () => groupModels(filterModels(catalog.models, JSON.parse(wanted) as SearchState)),
    [catalog.models, wanted],
  );
  const { rows, ...more } = useShownRows(groups, wanted, FIRST);
  const status = new Map(catalog.endpoints.map((endpoint) => [endpoint.endpoint, endpoint.status]));
  const actions = ({ best }: ModelGroup) =>
    best.unavailable ? null : (
      <LinkButton small href={tryHref(best)}>
        {t('models.try')}
      </LinkButton>
    );
  return (
    <>
      <ModelFilters catalog={catalog} state={state} change={change} />
      <p className="-mb-2 text-sm text-ink-3" role="status">
        {t('models.count', { count: groups.length })}
      </p>
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
    </>
  );
}

export function tryHref(model: ModelItem): string {
  const tab = model.type === 'image_generation' ? '&tab=images' : '';
  return `/app/playground?model=${encodeURIComponent(`${model.endpoint} ${model.model}`)}${tab}`;
}
