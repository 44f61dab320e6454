import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import type { EndpointItem, ModelItem } from '../../lib/answers.ts';
import { Badge, Dot } from '../../ui/Badge.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { Link } from '../../ui/Link.tsx';
import { Price } from '../../ui/Money.tsx';
import { Compact, Nothing } from '../../ui/Numbers.tsx';
import { Time } from '../../ui/Time.tsx';
import type { Column } from '../../ui/Table.tsx';
import { pricesDiffer, type ModelGroup } from './group.ts';
import { ModelPriceCell, STATUS_TONES } from './ModelPrice.tsx';

/** The columns of the model list; `actions` is what the row offers besides opening. */
export function modelColumns(
  t: TFunction,
  status: ReadonlyMap<string, EndpointItem['status']>,
  actions: (group: ModelGroup) => ReactNode,
): Column<ModelGroup>[] {
  return [
    {
      id: 'model',
      header: t('models.model'),
      card: 'title',
      cell: ({ best: model, offers }) => (
        <span className="flex min-w-0 items-start gap-2.5">
          <span className="pt-0.5">
            <ModelDot model={model} status={status.get(model.endpoint) ?? 'up'} t={t} />
          </span>
          <span className="min-w-0">
            <span className="block font-medium">{model.displayName}</span>
            <CopyText
              text={offers.length > 1 ? model.model : `${model.endpoint}/${model.model}`}
              className="text-xs text-ink-3"
            />
            {model.next ? <NextPrice next={model.next} t={t} /> : null}
          </span>
        </span>
      ),
    },
    { id: 'can', header: t('models.can'), cell: ({ best }) => <Abilities model={best} t={t} /> },
    {
      id: 'offers',
      header: t('models.offers'),
      cell: (group) => <Offers group={group} status={status} t={t} />,
    },
    {
      id: 'context',
      header: t('models.context'),
      align: 'right',
      cell: ({ best: model }) =>
        model.type === 'image_generation' || model.contextTokens === 0 ? (
          <Nothing />
        ) : (
          <Compact value={model.contextTokens} />
        ),
    },
    ...(['input', 'cached', 'output'] as const).map((part): Column<ModelGroup> => ({
      id: part,
      header: t(`models.${part}`),
      align: 'right',
      cell: (group) => <ModelPriceCell model={group.best} part={part} />,
    })),
    {
      id: 'actions',
      header: <span className="sr-only">{t('models.try')}</span>,
      align: 'right',
      card: 'aside',
      cell: actions,
    },
  ];
}

function NextPrice({ next, t }: { next: NonNullable<ModelItem['next']>; t: TFunction }) {
  const { from, price, free } = next;
  const amounts =
    price?.kind === 'tokens'
      ? [price.inputUsd, price.outputUsd]
      : (price?.bySize ?? []).slice(0, 1).map(({ imageUsd }) => imageUsd);
  return (
    <span className="block text-xs text-warn">
      {t(price ? 'models.priceFrom' : 'models.goneFrom')} <Time at={from} style="full" />
      {free ? `: ${t('common.free')}` : null}
      {free
        ? null
        : amounts.map((usd, at) => (
            <span key={at}>
              {at === 0 ? ': ' : ' / '}
              <Price usd={usd} />
            </span>
          ))}
    </span>
  );
}

/** How many endpoints are named; the model's page has all of them. */
const NAMED_OFFERS = 4;

interface OffersProps {
  readonly group: ModelGroup;
  readonly status: ReadonlyMap<string, EndpointItem['status']>;
  readonly t: TFunction;
}

/** The endpoints that offer the model. If their prices differ, the row shows those of the first. */
function Offers({ group, status, t }: OffersProps) {
  const { offers } = group;
  return (
    <span className="flex flex-col gap-0.5 text-xs">
      {offers.slice(0, NAMED_OFFERS).map((offer) => (
        <Link
          key={offer.endpoint}
          href={modelHref(offer)}
          title={offer.endpointName}
          className="inline-flex items-center gap-1.5 font-mono text-ink-2 hover:text-accent hover:underline"
        >
          {offers.length > 1 ? (
            <ModelDot model={offer} status={status.get(offer.endpoint) ?? 'up'} t={t} />
          ) : null}
          {offer.endpoint}
        </Link>
      ))}
      {offers.length > NAMED_OFFERS ? (
        <span className="text-ink-3">{t('models.moreOffers', { count: offers.length - NAMED_OFFERS })}</span>
      ) : null}
      {pricesDiffer(group) ? <span className="text-ink-3">{t('models.pricesDiffer')}</span> : null}
    </span>
  );
}

export function modelHref(model: Pick<ModelItem, 'endpoint' | 'model'>): string {
  return `/app/models/${encodeURIComponent(model.endpoint)}/${encodeURIComponent(model.model)}`;
}

export function Abilities({ model, t }: { model: ModelItem; t: TFunction }) {
  const abilities = (['vision', 'tools', 'reasoning'] as const).filter((ability) => model[ability]);
  if (model.type === 'image_generation') return <Badge>{t('models.image')}</Badge>;
  if (abilities.length === 0) return <Nothing />;
  return (
    <span className="inline-flex min-w-36 flex-wrap gap-1">
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
