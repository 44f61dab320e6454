import type { TFunction } from 'i18next';
import type { AdminCatalog } from '../../../lib/answers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Count } from '../../../ui/Numbers.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';

type AdminCatalogEndpoint = AdminCatalog['endpoints'][number];

const LIMITS = ['chatPerMinute', 'imagesPerMinute', 'concurrent'] as const;

/** The published catalog: endpoints, their models, and their backends in the order they are tried. */
export function CatalogOverview({ catalog }: { catalog: AdminCatalog }) {
  const { t } = useTranslation();
  return (
    <div className="flex flex-col gap-5">
      <Card flush>
        <Table
          label={t('catalog.title')}
          columns={endpointColumns(t)}
          rows={catalog.endpoints}
          rowKey={(row) => row.code}
        />
      </Card>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card title={t('catalog.upstreams')}>
          <Upstreams upstreams={catalog.upstreams} />
        </Card>
        <Card title={t('catalog.limits')}>
          <dl className="grid grid-cols-3 gap-4">
            {LIMITS.map((limit) => (
              <div key={limit}>
                <dt className="text-sm text-ink-3">{t(`accounts.${limit}`)}</dt>
                <dd className="text-lg font-medium">
                  <Count value={catalog.limits[limit]} />
                </dd>
              </div>
            ))}
          </dl>
        </Card>
      </div>
    </div>
  );
}

function Upstreams({ upstreams }: { upstreams: AdminCatalog['upstreams'] }) {
  const { t } = useTranslation();
  return (
    <ul className="-my-2 divide-y divide-line">
      {upstreams.map((upstream) => (
        <li key={upstream.name} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2.5">
          <code className="w-24 truncate text-sm font-medium">{upstream.name}</code>
          <Badge>{upstream.kind}</Badge>
          <span className="min-w-0 flex-1 truncate text-sm text-ink-3">{upstream.baseUrl ?? ''}</span>
          {upstream.problem === null ? (
            <Badge tone={upstream.hasKey ? 'good' : 'neutral'}>
              {t(upstream.hasKey ? 'catalog.hasKey' : 'catalog.noKey')}
            </Badge>
          ) : (
            <p role="alert" className="w-full text-sm break-words text-bad">
              {t('catalog.keyWithheld')} {upstream.problem}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

const KINDS = {
  chat_completion: 'chat',
  image_generation: 'image',
  embedding: 'embedding',
  moderation: 'moderation',
} as const;

function endpointColumns(t: TFunction): Column<AdminCatalogEndpoint>[] {
  return [
    {
      id: 'endpoint',
      header: t('catalog.endpoint'),
      card: 'title',
      cell: (row) => (
        <span className="block">
          <span className="block font-medium">{row.name}</span>
          <code className="text-xs text-ink-3">{row.code}</code>
        </span>
      ),
    },
    { id: 'kind', header: t('catalog.kind'), cell: (row) => t(`models.${KINDS[row.type]}`) },
    { id: 'models', header: t('catalog.models'), cell: (row) => <Models endpoint={row} /> },
    { id: 'route', header: t('catalog.route'), cell: (row) => <Route places={row.places} /> },
  ];
}

/** Models named per endpoint; the YAML has all of them. */
const NAMED_MODELS = 20;

function Models({ endpoint }: { endpoint: AdminCatalogEndpoint }) {
  const { t } = useTranslation();
  if (endpoint.unavailable) return <span className="text-sm text-warn">{endpoint.unavailable}</span>;
  return (
    <span className="flex flex-wrap gap-1">
      {endpoint.models.slice(0, NAMED_MODELS).map((model) => (
        <Badge key={model} mono>
          {model}
        </Badge>
      ))}
      {endpoint.models.length > NAMED_MODELS ? (
        <span className="text-sm text-ink-3">
          {t('models.moreOffers', { count: endpoint.models.length - NAMED_MODELS })}
        </span>
      ) : null}
    </span>
  );
}

/** Places in order, with an arrow between them; the backends of one place share the load by weight. */
function Route({ places }: { places: AdminCatalogEndpoint['places'] }) {
  const named = (place: AdminCatalogEndpoint['places'][number]): string =>
    place.map(({ upstream, weight }) => (place.length > 1 ? `${upstream} ×${weight}` : upstream)).join(' + ');
  return <code className="text-xs">{places.map(named).join(' → ') || '–'}</code>;
}
