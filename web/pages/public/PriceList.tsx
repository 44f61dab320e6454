import type { TFunction } from 'i18next';
import type { EndpointItem, ModelItem, ModelList } from '../../lib/answers.ts';
import { useShownRows } from '../../lib/pages.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Dot } from '../../ui/Badge.tsx';
import { Compact, Nothing } from '../../ui/Numbers.tsx';
import { ShowMore } from '../../ui/Pager.tsx';
import { Empty } from '../../ui/States.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { ModelPriceCell } from '../models/ModelPrice.tsx';
import { STATUS_TONES } from '../models/status.ts';

/** Models shown per endpoint at first: there may be many endpoints. */
const FIRST_MODELS = 20;

/** Every available model, under the endpoint that serves it. */
export function PriceList({ endpoints, models }: ModelList) {
  const { t } = useTranslation();
  const served = endpoints.filter((endpoint) => models.some((model) => model.endpoint === endpoint.endpoint));
  if (served.length === 0) return <Empty title={t('public.noModels')} />;
  return (
    <div className="flex flex-col gap-5">
      {served.map((endpoint) => (
        <EndpointPrices
          key={endpoint.endpoint}
          endpoint={endpoint}
          models={models.filter((model) => model.endpoint === endpoint.endpoint)}
        />
      ))}
    </div>
  );
}

function EndpointPrices({ endpoint, models }: { endpoint: EndpointItem; models: ModelItem[] }) {
  const { t } = useTranslation();
  const shown = useShownRows(models, endpoint.endpoint, FIRST_MODELS);
  return (
    <Card
      flush
      title={
        <span className="flex flex-wrap items-center gap-x-2.5 gap-y-0.5">
          <Dot
            tone={endpoint.unavailable ? 'neutral' : STATUS_TONES[endpoint.status]}
            label={t(`models.status.${endpoint.status}`)}
          />
          {endpoint.name}
          <span className="font-mono text-sm font-normal text-ink-3">{endpoint.endpoint}</span>
        </span>
      }
      hint={endpoint.unavailable}
    >
      <Table
        label={endpoint.name}
        columns={priceColumns(t)}
        rows={shown.rows}
        rowKey={(model) => model.model}
      />
      <ShowMore {...shown} />
    </Card>
  );
}

function priceColumns(t: TFunction): Column<ModelItem>[] {
  return [
    {
      id: 'model',
      header: t('models.model'),
      card: 'title',
      className: 'w-[36%]',
      cell: (model) => (
        <span className="block min-w-0">
          <span className="block">{model.displayName}</span>
          <CopyText text={model.model} className="text-xs text-ink-3" />
        </span>
      ),
    },
    {
      id: 'context',
      header: t('models.context'),
      align: 'right',
      cell: (model) =>
        model.contextTokens > 0 && model.type === 'chat_completion' ? (
          <Compact value={model.contextTokens} />
        ) : (
          <Nothing />
        ),
    },
    {
      id: 'input',
      header: t('models.input'),
      align: 'right',
      cell: (model) => <ModelPriceCell model={model} part="input" />,
    },
    {
      id: 'cached',
      header: t('models.cached'),
      align: 'right',
      cell: (model) => <ModelPriceCell model={model} part="cached" />,
    },
    {
      id: 'output',
      header: t('models.output'),
      align: 'right',
      cell: (model) => <ModelPriceCell model={model} part="output" />,
    },
  ];
}
