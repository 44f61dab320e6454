import type { TFunction } from 'i18next';
import type { AdminMargin, AdminMarginSums } from '../../../lib/answers.ts';
import { approximate } from '../../../lib/money.ts';
import { formatUtcDay } from '../../../lib/time.ts';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Count, Nothing } from '../../../ui/Numbers.tsx';
import type { Column } from '../../../ui/Table.tsx';

type AdminLoss = AdminMargin['losses'][number];
type AdminMarginRow = AdminMargin['rows'][number];
type MarginGrouping = AdminMargin['by'];

export function marginColumns(t: TFunction, by: MarginGrouping, language: string): Column<AdminMarginRow>[] {
  return [
    {
      id: 'key',
      header: t(`margin.${by}`),
      card: 'title',
      cell: ({ key }) => (
        <span className={by === 'day' ? 'tabular-nums' : 'font-mono text-xs break-all'}>
          {key === '' ? t('margin.none') : by === 'day' ? formatUtcDay(key, language, 'date') : key}
        </span>
      ),
    },
    {
      id: 'requests',
      header: t('margin.requests'),
      align: 'right',
      cell: ({ requests }) => <Count value={requests} />,
    },
    revenueColumn(t),
    {
      id: 'cost',
      header: t('margin.cost'),
      align: 'right',
      cell: ({ costUsd }) =>
        costUsd === null ? <UnknownAmount label={t('margin.unknown')} /> : <Money usd={costUsd} />,
    },
    {
      id: 'possible',
      header: t('margin.possible'),
      align: 'right',
      cell: ({ possibleCostUsd }) =>
        possibleCostUsd === '0.00' ? <Nothing /> : <Money usd={possibleCostUsd} />,
    },
    {
      id: 'unknown',
      header: t('margin.unknownRevenue'),
      align: 'right',
      cell: ({ unknownUsd }) => (unknownUsd === '0.00' ? <Nothing /> : <Money usd={unknownUsd} />),
    },
    {
      id: 'margin',
      header: t('margin.margin'),
      align: 'right',
      card: 'aside',
      cell: (row) => <MarginAmount sums={row} label={t('margin.unknown')} />,
    },
  ];
}

export function lossColumns(t: TFunction): Column<AdminLoss>[] {
  return [
    {
      id: 'request',
      header: t('margin.request'),
      card: 'title',
      cell: ({ id }) => (
        <Link
          href={`/admin/requests?id=${id}`}
          className="font-mono text-xs break-all text-accent hover:underline"
        >
          {id}
        </Link>
      ),
    },
    { id: 'model', header: t('margin.model'), cell: ({ model }) => <code className="text-xs">{model}</code> },
    {
      id: 'backend',
      header: t('margin.backend'),
      cell: ({ upstream }) => (upstream === null ? <Nothing /> : <code className="text-xs">{upstream}</code>),
    },
    chargeColumn('revenue', t('margin.revenue'), (row) => row.chargedUsd),
    chargeColumn('cost', t('margin.cost'), (row) => row.costUsd),
    chargeColumn('possible', t('margin.possible'), (row) => row.possibleCostUsd),
  ];
}

/** Of a single request, often less than a cent. */
function chargeColumn(id: string, header: string, of: (row: AdminLoss) => string): Column<AdminLoss> {
  return {
    id,
    header,
    align: 'right',
    cell: (row) => (approximate(of(row)) === 0 ? <Nothing /> : <Money usd={of(row)} kind="charge" />),
  };
}

function revenueColumn<Row extends { readonly chargedUsd: string }>(t: TFunction): Column<Row> {
  return {
    id: 'revenue',
    header: t('margin.revenue'),
    align: 'right',
    cell: ({ chargedUsd }) => <Money usd={chargedUsd} />,
  };
}

/** An unknown cost must not look like zero. */
export function UnknownAmount({ label }: { label: string }) {
  return <span className="font-normal text-ink-3">{label}</span>;
}

interface MarginAmountProps {
  readonly sums: Pick<AdminMarginSums, 'marginUsd' | 'isLoss'>;
  readonly label: string;
}

export function MarginAmount({ sums: { marginUsd, isLoss }, label }: MarginAmountProps) {
  if (marginUsd === null) return <UnknownAmount label={label} />;
  return <Money usd={marginUsd} className={isLoss ? 'text-bad' : 'text-accent'} plain />;
}
