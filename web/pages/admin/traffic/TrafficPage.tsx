import type { AdminTraffic } from '../../../lib/answers.ts';
import { useApi } from '../../../lib/api.ts';
import { useNarrow } from '../../../lib/media.ts';
import { oneOf, useSearchState } from '../../../lib/search.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Dot } from '../../../ui/Badge.tsx';
import { LinkButton } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { Empty, Loaded, Skeleton } from '../../../ui/States.tsx';
import { FlowPicture } from './FlowPicture.tsx';
import { FlowTables } from './FlowTable.tsx';
import { HEALTH_TONES } from './nodeText.ts';

const RANGES = ['today', 'hour', 'week'] as const;
const SHOWN_RANGES = ['hour', 'today', 'week'] as const;
const MEASURES = ['requests', 'charged'] as const;
const HEALTHS = ['healthy', 'errors', 'failing', 'paused'] as const;
const REFRESH_MS = 15_000;

/** All traffic at a glance: who calls what, and which backends serve it. */
export default function TrafficPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const range = oneOf(state['range'], RANGES);
  const measure = oneOf(state['by'], MEASURES);
  const traffic = useApi(
    'GET /api/console/admin/traffic',
    { query: { range, measure } },
    { refetchInterval: REFRESH_MS },
  );
  return (
    <Page
      wide
      title={t('traffic.title')}
      lead={t('traffic.lead')}
      actions={
        <>
          <Segments
            label={t('traffic.measure')}
            value={measure}
            onChange={(by) => change({ by })}
            options={MEASURES.map((value) => ({ value, label: t(`traffic.by.${value}`) }))}
          />
          <Segments
            label={t('traffic.rangeLabel')}
            value={range}
            onChange={(next) => change({ range: next })}
            options={SHOWN_RANGES.map((value) => ({ value, label: t(`traffic.range.${value}`) }))}
          />
        </>
      }
    >
      <Loaded query={traffic} skeleton={<Skeleton className="h-[28rem] w-full rounded-lg" />}>
        {(data) => (data.links.length === 0 ? <NoTraffic /> : <Shown traffic={data} />)}
      </Loaded>
    </Page>
  );
}

function Shown({ traffic }: { traffic: AdminTraffic }) {
  const { t } = useTranslation();
  // Ribbons cannot be told apart on a phone; the tables say the same.
  const isNarrow = useNarrow();
  return (
    <>
      {isNarrow ? null : (
        <Card>
          <Headings traffic={traffic} />
          <FlowPicture traffic={traffic} />
          <Legend />
        </Card>
      )}
      {traffic.isEstimated ? <p className="-my-2 text-sm text-ink-3">{t('traffic.estimated')}</p> : null}
      <FlowTables traffic={traffic} />
    </>
  );
}

function Headings({ traffic }: { traffic: AdminTraffic }) {
  const { t } = useTranslation();
  return (
    <div aria-hidden className="mb-3 flex text-sm font-medium text-ink-2">
      {traffic.columns.map(({ kind }) => (
        <span key={kind} className="flex-1 last:flex-none last:basis-[160px]">
          {t(`traffic.${kind}s`)}
        </span>
      ))}
    </div>
  );
}

function Legend() {
  const { t } = useTranslation();
  return (
    <ul className="mt-4 flex flex-wrap gap-x-5 gap-y-1 text-sm text-ink-2">
      {HEALTHS.map((health) => (
        <li key={health} className="inline-flex items-center gap-2">
          <span aria-hidden className="inline-grid">
            <Dot tone={HEALTH_TONES[health]} label="" />
          </span>
          {t(`traffic.legend.${health}`)}
        </li>
      ))}
    </ul>
  );
}

function NoTraffic() {
  const { t } = useTranslation();
  return (
    <Card>
      <Empty
        title={t('traffic.empty')}
        action={
          <>
            <LinkButton href="/app/playground">{t('nav.playground')}</LinkButton>
            <LinkButton href="/admin/backends">{t('nav.adminBackends')}</LinkButton>
          </>
        }
      >
        {t('traffic.emptyLead')}
      </Empty>
    </Card>
  );
}
