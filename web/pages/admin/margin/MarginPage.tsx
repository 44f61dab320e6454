import type { ReactNode } from 'react';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import type { AdminMargin, AdminMarginSums } from '../../../lib/answers.ts';
import { useApi } from '../../../lib/api.ts';
import { oneOf, useSearchState } from '../../../lib/search.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { ShowMore } from '../../../ui/Pager.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { Empty, Loaded, Skeleton } from '../../../ui/States.tsx';
import { Table } from '../../../ui/Table.tsx';
import { MarginAmount, UnknownAmount, lossColumns, marginColumns } from './columns.tsx';

const GROUPINGS = ['day', 'model', 'backend', 'group'] as const;
const RANGES = ['7', '30', '90'] as const;
const REFRESH_MS = 30_000;

/** The revenue from requests, beside what they cost the operator. */
export default function MarginPage() {
  const { t, i18n } = useTranslation();
  const [state, change] = useSearchState();
  const by = oneOf(state['by'], GROUPINGS);
  const days = oneOf(state['days'] ?? '30', RANGES);
  const margin = useApi(
    'GET /api/console/admin/margin',
    { query: { by, days } },
    { refetchInterval: REFRESH_MS },
  );
  return (
    <Page
      wide
      title={t('margin.title')}
      lead={t('margin.lead')}
      actions={
        <Segments
          label={t('margin.range')}
          value={days}
          onChange={(next) => change({ days: next })}
          options={RANGES.map((value) => ({ value, label: t('margin.days', { count: Number(value) }) }))}
        />
      }
    >
      <Loaded query={margin} skeleton={<Skeleton className="h-[32rem] w-full rounded-lg" />}>
        {(data) => (
          <>
            <Alarm data={data} />
            <Figures total={data.total} />
            <Card
              flush
              title={t(`margin.by.${data.by}`)}
              actions={
                <Segments
                  label={t('margin.groupBy')}
                  value={by}
                  onChange={(next) => change({ by: next })}
                  options={GROUPINGS.map((value) => ({ value, label: t(`margin.${value}`) }))}
                />
              }
            >
              {data.rows.length === 0 ? (
                <Empty title={t('margin.empty')}>{t('margin.emptyLead')}</Empty>
              ) : (
                <Table
                  label={t(`margin.by.${data.by}`)}
                  columns={marginColumns(t, data.by, i18n.language)}
                  rows={data.rows}
                  rowKey={(row) => row.key}
                />
              )}
              <ShowMore showMore={undefined} beyond={data.moreRows} />
            </Card>
            <Losses losses={data.losses} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Alarm({ data }: { data: AdminMargin }) {
  const { t } = useTranslation();
  const names = data.belowZero.map(({ by, key }) => `${t(`margin.${by}`)} ${key || t('margin.none')}`);
  if (names.length === 0) return null;
  const shown = names.slice(0, 5).join(', ');
  return (
    <p
      role="alert"
      className="flex items-start gap-3 rounded-md border border-bad-line bg-bad-soft px-4 py-3 text-bad"
    >
      <TriangleAlert size={20} aria-hidden className="mt-0.5 shrink-0" />
      <span className="min-w-0 break-words">
        {t('margin.alarm', { names: names.length > 5 ? `${shown}, …` : shown })}
      </span>
    </p>
  );
}

function Figures({ total }: { total: AdminMarginSums }) {
  const { t } = useTranslation();
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line lg:grid-cols-4">
      <Figure label={t('margin.revenue')} value={<Money usd={total.chargedUsd} />} />
      <Figure
        label={t('margin.cost')}
        value={
          total.costUsd === null ? (
            <UnknownAmount label={t('margin.unknown')} />
          ) : (
            <Money usd={total.costUsd} />
          )
        }
        note={
          <>
            {t('margin.possible')}: <Money usd={total.possibleCostUsd} />
            {total.possibleCostUsd === '0.00' ? null : (
              <span className="mt-1 block">{t('margin.possibleNote')}</span>
            )}
          </>
        }
      />
      <Figure
        label={t('margin.margin')}
        value={<MarginAmount sums={total} label={t('margin.unknown')} />}
        note={t('margin.marginNote')}
      />
      <Figure
        label={t('margin.unknownRevenue')}
        value={<Money usd={total.unknownUsd} />}
        note={
          total.unknownUsd === '0.00' ? undefined : (
            <Link href="/admin/prices?show=unknown" className="text-accent hover:underline">
              {t('margin.unknownNote')}
            </Link>
          )
        }
      />
    </dl>
  );
}

function Figure({ label, value, note }: { label: string; value: ReactNode; note?: ReactNode }) {
  return (
    <div className="min-w-0 bg-surface p-4 sm:p-5">
      <dt className="text-sm text-ink-3">{label}</dt>
      <dd className="mt-1 text-xl font-semibold">{value}</dd>
      {note === undefined ? null : <dd className="mt-1 text-sm text-ink-3">{note}</dd>}
    </div>
  );
}

function Losses({ losses }: { losses: AdminMargin['losses'] }) {
  const { t } = useTranslation();
  if (losses.length === 0) return null;
  return (
    <Card flush title={t('margin.losses')}>
      <Table label={t('margin.losses')} columns={lossColumns(t)} rows={losses} rowKey={(row) => row.id} />
    </Card>
  );
}
