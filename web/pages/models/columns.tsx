import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import type { EndpointItem, ModelItem } from '../../../src/console/contract.ts';
import { Badge, Dot } from '../../ui/Badge.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Compact, Nothing } from '../../ui/Numbers.tsx';
import type { Column } from '../../ui/Table.tsx';
import { ModelPriceCell } from './ModelPrice.tsx';
import { STATUS_TONES } from './status.ts';

/** The columns of the model list; `actions` is what the row offers besides opening. */
export function modelColumns(
  t: TFunction,
  status: ReadonlyMap<string, EndpointItem['status']>,
  actions: (model: ModelItem) => ReactNode,
): Column<ModelItem>[] {
  return [
    {
      id: 'model',
      header: t('models.model'),
      card: 'title',
      cell: (model) => (
        <span className="flex min-w-0 items-start gap-2.5">
          <span className="pt-0.5">
            <ModelDot model={model} status={status.get(model.endpoint) ?? 'up'} t={t} />
          </span>
          <span className="min-w-0">
            <span className="block font-medium">{model.displayName}</span>
            <CopyText text={`${model.endpoint}/${model.model}`} className="text-xs text-ink-3" />
          </span>
        </span>
      ),
    },
    { id: 'can', header: t('models.can'), cell: (model) => <Abilities model={model} t={t} /> },
    {
      id: 'context',
      header: t('models.context'),
      align: 'right',
      cell: (model) =>
        model.type === 'image_generation' || model.contextTokens === 0 ? (
          <Nothing />
        ) : (
          <Compact value={model.contextTokens} />
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
    {
      id: 'actions',
      header: <span className="sr-only">{t('models.try')}</span>,
      align: 'right',
      card: 'aside',
      cell: actions,
    },
  ];
}

export function modelHref(model: Pick<ModelItem, 'endpoint' | 'model'>): string {
  return `/app/models/${encodeURIComponent(model.endpoint)}/${encodeURIComponent(model.model)}`;
}

export function Abilities({ model, t }: { model: ModelItem; t: TFunction }) {
  const abilities = (['vision', 'tools', 'reasoning'] as const).filter((ability) => model[ability]);
  if (model.type === 'image_generation') return <Badge>{t('models.image')}</Badge>;
  if (abilities.length === 0) return <Nothing />;
  return (
    <span className="inline-flex flex-wrap gap-1">
      {abilities.map((ability) => (
        <Badge key={ability}>{t(`models.${ability}`)}</Badge>
      ))}
    </span>
  );
}

function ModelDot({ model, status, t }: { model: ModelItem; status: EndpointItem['status']; t: TFunction }) {
  if (model.unavailable)
    return <Dot tone="neutral" label={`${t('models.unavailable')}: ${model.unavailable}`} />;
  return <Dot tone={STATUS_TONES[status]} label={t(`models.status.${status}`)} />;
}
