import type { TFunction } from 'i18next';
import type { EndpointItem, ModelList } from '../../lib/answers.ts';
import { useShownRows } from '../../lib/pages.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dot } from '../../ui/Badge.tsx';
import { Compact, Nothing } from '../../ui/Numbers.tsx';
import { ShowMore } from '../../ui/Pager.tsx';
import { Empty } from '../../ui/States.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { FoldedDemos } from '../models/FoldedDemos.tsx';
import { groupModels, type ModelGroup } from '../models/group.ts';
import { ModelPriceCell, STATUS_TONES } from '../models/ModelPrice.tsx';

/** Models shown at first: there may be thousands. */
const FIRST_MODELS = 20;

/** Every model once, with the endpoints that offer it; demo models come last, folded. */
export function PriceList({ endpoints, models }: ModelList) {
  const { t } = useTranslation();
  const status = new Map(endpoints.map((endpoint) => [endpoint.endpoint, endpoint.status]));
  const groups = groupModels(models);
  const demos = groups.filter(({ best }) => best.isDemo);
  const sold = groups.filter(({ best }) => !best.isDemo);
  if (groups.length === 0) return <Empty title={t('public.noModels')} />;
  return (
    <div className="flex flex-col gap-5">
      <Prices groups={sold} status={status} />
      <FoldedDemos count={demos.length}>
        <Prices groups={demos} status={status} />
      </FoldedDemos>
    </div>
  );
}

type States = ReadonlyMap<string, EndpointItem['status']>;

function Prices({ groups, status }: { groups: readonly ModelGroup[]; status: States }) {
  const { t } = useTranslation();
  const shown = useShownRows(groups, '', FIRST_MODELS);
  return (
    <Card flush>
      <Table
        label={t('models.title')}
        columns={priceColumns(t, status)}
        rows={shown.rows}
        rowKey={({ id }) => id}
      />
      <ShowMore {...shown} />
    </Card>
  );
}

function priceColumns(t: TFunction, status: States): Column<ModelGroup>[] {
  return [
    {
      id: 'model',
      header: t('models.model'),
      card: 'title',
      className: 'w-[28%]',
      cell: ({ best: model }) => (
        <span className="block min-w-0">
          <span className="block">{model.displayName}</span>
          <CopyText text={model.model} className="text-xs text-ink-3" />
        </span>
      ),
    },
    {
      id: 'endpoints',
      header: t('models.offers'),
      cell: ({ offers }) => (
        <span className="flex flex-wrap gap-x-3 gap-y-0.5">
          {offers.map(({ endpoint, endpointName, unavailable }) => (
            <span key={endpoint} title={endpointName} className="inline-flex items-center gap-1.5">
              <Dot
                tone={unavailable === null ? STATUS_TONES[status.get(endpoint) ?? 'up'] : 'neutral'}
                label={unavailable ?? t(`models.status.${status.get(endpoint) ?? 'up'}`)}
              />
              <code className="text-xs text-ink-2">{endpoint}</code>
            </span>
          ))}
        </span>
      ),
    },
    {
      id: 'context',
      header: t('models.context'),
      align: 'right',
      cell: ({ best: model }) =>
        model.contextTokens > 0 && model.type !== 'image_generation' ? (
          <Compact value={model.contextTokens} />
        ) : (
          <Nothing />
        ),
    },
    {
      id: 'input',
      header: t('models.input'),
      align: 'right',
      cell: ({ best: model }) => <ModelPriceCell model={model} part="input" />,
    },
    {
      id: 'cached',
      header: t('models.cached'),
      align: 'right',
      cell: ({ best: model }) => <ModelPriceCell model={model} part="cached" />,
    },
    {
      id: 'output',
      header: t('models.output'),
      align: 'right',
      cell: ({ best: model }) => <ModelPriceCell model={model} part="output" />,
    },
  ];
}
