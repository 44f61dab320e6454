import { PRICED_ITEMS, type PricedItem } from '../../../src/std/price-dimensions.ts';
import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { ModelItem, ImageAbilityList } from '../../lib/answers.ts';
import { Sparkline } from '../../charts/SmallLines.tsx';
import { daysBetween } from '../../charts/usageBars.ts';
import { useApi } from '../../lib/api.ts';
import { approximate, formatUsd } from '../../lib/money.ts';
import { publicOrigin } from '../../lib/browser.ts';
import { pathParts, hrefWith } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useModels } from '../../lib/wallet.ts';
import { LinkButton } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { Code } from '../../ui/Code.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Link } from '../../ui/Link.tsx';
import { Price } from '../../ui/Money.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/States.tsx';
import { Time } from '../../ui/Time.tsx';
import { curlCommand } from '../requests/curl.ts';
import { Abilities, modelHref } from './columns.tsx';
import { ModelFigures } from './ModelFigures.tsx';
import { ModelPriceCell } from './ModelPrice.tsx';
import { tryHref } from './ModelsPage.tsx';

type OtherPrice = ModelItem['price']['others'][number];

export default function ModelPage() {
  const { t } = useTranslation();
  useLocation();
  const [endpoint, id] = pathParts('/app/models/');
  const catalog = useModels({ staleTime: 30_000 });
  return (
    <Loaded query={catalog} skeleton={<Skeleton className="m-8 h-96" />}>
      {({ models }) => {
        const model = models.find((item) => item.endpoint === endpoint && item.model === id);
        return model ? (
          <Detail model={model} others={otherOffers(models, model)} />
        ) : (
          <Empty
            title={<h1>{t('models.unknown')}</h1>}
            action={<LinkButton href="/app/models">{t('nav.models')}</LinkButton>}
          >
            {t('models.unknownLead')}
          </Empty>
        );
      }}
    </Loaded>
  );
}

function otherOffers(models: readonly ModelItem[], { type, model, endpoint }: ModelItem): ModelItem[] {
  return models.filter((one) => one.type === type && one.model === model && one.endpoint !== endpoint);
}

function Detail({ model, others }: { model: ModelItem; others: readonly ModelItem[] }) {
  const { t } = useTranslation();
  return (
    <Page
      title={model.displayName}
      lead={
        <span className="flex flex-wrap items-center gap-x-3">
          <Link href="/app/models" className="text-accent underline-offset-2 hover:underline">
            {t('nav.models')}
          </Link>
          <CopyText text={`${model.endpoint}/${model.model}`} />
        </span>
      }
      actions={
        model.unavailable ? null : (
          <LinkButton kind="primary" href={tryHref(model)}>
            {t('models.try')}
          </LinkButton>
        )
      }
    >
      {model.unavailable ? (
        <p className="rounded-md border border-warn-line bg-warn-soft px-4 py-3 text-warn">
          {model.unavailable}
        </p>
      ) : null}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card title={t('models.prices')}>
          <Prices model={model} />
          {model.next ? <NextPrices model={model} next={model.next} /> : null}
        </Card>
        <Card title={t('models.facts')}>
          <Facts model={model} />
        </Card>
      </div>
      {others.length > 0 ? (
        <Card title={t('models.otherOffers')}>
          <OtherOffers offers={others} />
        </Card>
      ) : null}
      <ModelFigures model={model} />
      <ModelUse model={model} />
      <Card title={t('models.example')}>
        <Code label={t('models.example')} code={example(model)} />
      </Card>
    </Page>
  );
}

function OtherOffers({ offers }: { offers: readonly ModelItem[] }) {
  return (
    <ul className="-my-2 divide-y divide-line">
      {offers.map((offer) => (
        <li key={offer.endpoint} className="flex flex-wrap items-baseline gap-x-4 gap-y-1 py-2">
          <Link href={modelHref(offer)} className="min-w-0 flex-1 basis-48 hover:text-accent hover:underline">
            {offer.endpointName} <span className="font-mono text-sm text-ink-3">{offer.endpoint}</span>
          </Link>
          <span className="flex items-baseline gap-2 text-sm">
            <ModelPriceCell model={offer} part="input" />
            {offer.free || offer.price.kind === 'images' ? null : (
              <>
                <span className="text-ink-3">/</span>
                <ModelPriceCell model={offer} part="output" />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Prices({ model }: { model: ModelItem }) {
  const { t } = useTranslation();
  if (model.free) return <p className="text-lg text-accent">{t('common.free')}</p>;
  const rows: { label: string; usd: string }[] =
    model.price.kind === 'tokens'
      ? [
          { label: t('models.input'), usd: model.price.inputUsd },
          { label: t('models.cached'), usd: model.price.cachedInputUsd },
          { label: t('models.output'), usd: model.price.outputUsd },
        ]
      : model.price.bySize.map(({ size, imageUsd }) => ({ label: size, usd: imageUsd }));
  const others = model.price.others.map((other) => ({ label: otherLabel(other, t), usd: other.usd }));
  const tiers = model.price.kind === 'tokens' ? model.price.tiers : [];
  return (
    <>
      <dl className="flex flex-col gap-2">
        {[...rows, ...others].map(({ label, usd }) => (
          <LedgerLine key={label} label={label} value={<Price usd={usd} />} className="text-lg" />
        ))}
        {tiers.map(({ tier, factor }) => (
          <LedgerLine key={tier} label={t('models.tier', { tier })} value={`× ${factor}`} />
        ))}
      </dl>
      <p className="mt-3 text-sm text-ink-3">
        {model.price.kind === 'tokens' ? t('models.perMillion') : t('models.perImage')}
      </p>
    </>
  );
}

/** The announced prices, with their date. */
function NextPrices({ model, next }: { model: ModelItem; next: NonNullable<ModelItem['next']> }) {
  const { t } = useTranslation();
  const { from, price, free } = next;
  return (
    <section className="mt-4 border-t border-line pt-4">
      <h3 className="mb-2 font-medium text-warn">
        {t(price ? 'models.priceFrom' : 'models.goneFrom')} <Time at={from} style="full" />
      </h3>
      {price ? <Prices model={{ ...model, price, free }} /> : null}
    </section>
  );
}

function otherLabel({ item, above, quality }: OtherPrice, t: TFunction): string {
  const label = isPricedItem(item) ? t(`models.items.${item}`) : item;
  if (quality !== null) return `${label} ${quality}`;
  return above === null ? label : t('models.above', { label, tokens: above });
}

function isPricedItem(item: string): item is PricedItem {
  return PRICED_ITEMS.some((known) => known === item);
}

function Facts({ model }: { model: ModelItem }) {
  const { t } = useTranslation();
  const tokens = (count: number): string =>
    count === 0 ? t('models.notKnown') : t('models.tokens', { count });
  const facts: { label: string; value: ReactNode }[] = [
    { label: t('models.endpoint'), value: `${model.endpointName} (${model.endpoint})` },
    ...(model.type === 'image_generation'
      ? [
          { label: t('models.sizes'), value: model.sizes.join(', ') },
          { label: t('models.imageFields'), value: <ImageFields abilities={model.abilities} /> },
        ]
      : [
          { label: t('models.context'), value: tokens(model.contextTokens) },
          { label: t('models.maxOutput'), value: tokens(model.maxOutput) },
        ]),
    { label: t('models.abilities'), value: <Abilities model={model} t={t} /> },
    { label: t('models.list'), value: <code className="text-sm">{model.list}</code> },
  ];
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
      {facts.map(({ label, value }) => (
        <div key={label} className="contents">
          <dt className="text-ink-3">{label}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const FIELDS_WITH_VALUES = ['quality', 'background', 'output_format', 'moderation', 'style'] as const;
const FIELDS_WITHOUT_VALUES = ['output_compression', 'seed', 'negative_prompt', 'mask'] as const;

/** The fields that an image request to the model may have, with their values. */
function ImageFields({ abilities }: { abilities: ImageAbilityList | null }) {
  const { t } = useTranslation();
  if (!abilities || abilities.mask === null) return t('models.imageFieldsByBackend');
  const fields = imageFields(abilities, t('models.imageFieldTaken'));
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1">
      {fields.map(([name, value]) => (
        <li key={name}>
          <code className="text-sm">{name}</code> {value}
        </li>
      ))}
    </ul>
  );
}

function imageFields(abilities: ImageAbilityList, yes: string): [name: string, value: string][] {
  const { size_range: range, shapes, max_n: most, reference_images: references } = abilities;
  const names = (key: 'aspect_ratio' | 'resolution'): string =>
    [...new Set(shapes.flatMap((shape) => shape[key] ?? []))].join(', ');
  const all: [string, string][] = [
    ['n', `1–${most}`],
    ['size', range ? `${range.min_edge}–${range.max_edge}, × ${range.step}, ≤ ${range.max_ratio}:1` : ''],
    ['aspect_ratio', names('aspect_ratio')],
    ['resolution', names('resolution')],
    ...FIELDS_WITH_VALUES.map((name): [string, string] => [name, abilities[name]?.join(', ') ?? '']),
    ...FIELDS_WITHOUT_VALUES.map((name): [string, string] => [name, abilities[name] === true ? yes : '']),
    ['partial_images', (abilities.partial_images ?? 0) > 0 ? `0–${abilities.partial_images}` : ''],
    ['image', references !== null && references > 0 ? `1–${references}` : ''],
  ];
  return all.filter(([, value]) => value !== '');
}

/** This account's recent use of the model, as a line of requests per day. */
function ModelUse({ model }: { model: ModelItem }) {
  const { t, i18n } = useTranslation();
  const query = { endpoint: model.endpoint, model: model.model };
  const usage = useApi('GET /api/console/usage', { query }, { staleTime: 60_000 });
  return (
    <Card
      title={t('models.yourUse')}
      actions={
        <Link
          href={hrefWith('/app/requests', { endpoint: model.endpoint, model: model.model })}
          className="text-sm text-accent underline-offset-2 hover:underline"
        >
          {t('models.log')}
        </Link>
      }
    >
      <Loaded query={usage} skeleton={<Skeleton className="h-10 w-full" />}>
        {({ rows: own, from, to }) => {
          if (own.length === 0) return <p className="text-ink-3">{t('models.yourUseNone')}</p>;
          const count = own.reduce((sum, row) => sum + row.requests, 0);
          const spent = own.reduce((sum, row) => sum + approximate(row.chargedUsd), 0);
          const line = t('models.yourUseLine', {
            count,
            spent: formatUsd(spent.toFixed(9), i18n.language),
          });
          const values = daysBetween(from, to).map(
            (day) => own.find((row) => row.day === day)?.requests ?? 0,
          );
          return (
            <>
              <p className="mb-2 tabular-nums">{line}</p>
              <Sparkline values={values} label={line} height={48} />
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

function example(model: ModelItem): string {
  const images = model.type === 'image_generation';
  const body = images
    ? {
        endpoint_code: model.endpoint,
        model: model.model,
        prompt: 'a toll gate at dawn',
        size: model.sizes[0],
      }
    : { endpoint: model.endpoint, model: model.model, messages: [{ role: 'user', content: 'Hello!' }] };
  const path = images ? 'images/generations' : 'chat/completions';
  return curlCommand(`${publicOrigin()}/api/public/v1/${path}`, body, '$TOLLGATE_TOKEN');
}
