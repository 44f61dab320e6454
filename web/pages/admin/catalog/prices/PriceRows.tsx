import type { TFunction } from 'i18next';
import type { AdminPriceRow } from '../../../../lib/answers.ts';
import { classes } from '../../../../lib/classes.ts';
import { useShownRows } from '../../../../lib/pages.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Badge } from '../../../../ui/Badge.tsx';
import { Input } from '../../../../ui/Field.tsx';
import { Price } from '../../../../ui/Money.tsx';
import { Nothing } from '../../../../ui/Numbers.tsx';
import { ShowMore } from '../../../../ui/Pager.tsx';
import { Table, type Column } from '../../../../ui/Table.tsx';
import {
  amountOf,
  marginOf,
  rowKey,
  shownAmounts,
  withEdit,
  type PriceEdits,
  type PriceSide,
} from './edits.ts';

interface PriceRowsProps {
  readonly rows: readonly AdminPriceRow[];
  /** With another list, the rows start from the top. */
  readonly list: string;
  readonly edits: PriceEdits;
  readonly onEdit: (edits: PriceEdits, field: string) => void;
}

export function PriceRows({ rows, list, edits, onEdit }: PriceRowsProps) {
  const { t } = useTranslation();
  const { rows: shown, ...more } = useShownRows(rows, list);
  const hasCosts = rows.some(({ cost }) => cost);
  const all = columns(t, edits, onEdit);
  return (
    <>
      <Table
        label={t('catalog.prices')}
        columns={hasCosts ? all : all.filter(({ id }) => id !== 'cost' && id !== 'margin')}
        rows={shown}
        rowKey={rowKey}
      />
      <ShowMore {...more} isSearched />
    </>
  );
}

function columns(t: TFunction, edits: PriceEdits, onEdit: PriceRowsProps['onEdit']): Column<AdminPriceRow>[] {
  const side = (
    id: PriceSide,
    header: string,
    labelOf: (row: AdminPriceRow) => string,
  ): Column<AdminPriceRow> => ({
    id,
    header,
    align: 'right',
    cell: (row) => (
      <AmountCell
        label={labelOf(row)}
        value={shownAmounts(row, edits)[id]}
        isChanged={edits.get(rowKey(row))?.[id] !== undefined}
        onChange={(text) => onEdit(withEdit(edits, row, { [id]: text }), `${id} ${rowKey(row)}`)}
      />
    ),
  });
  return [
    {
      id: 'model',
      header: t('models.model'),
      card: 'title',
      cell: (row) => (
        <span className="block min-w-0">
          {row.name}
          <code className="block text-xs break-all text-ink-3">
            {row.list} / {row.model}
          </code>
        </span>
      ),
    },
    {
      id: 'cost',
      header: t('priceTable.cost'),
      align: 'right',
      cell: ({ cost }) =>
        cost ? (
          <span className="whitespace-nowrap">
            <Price usd={cost.input} /> / <Price usd={cost.output} />
          </span>
        ) : (
          <Nothing />
        ),
    },
    side('input', t('priceTable.input'), ({ model }) => t('priceTable.inputOf', { model })),
    side('output', t('priceTable.output'), ({ model }) => t('priceTable.outputOf', { model })),
    {
      id: 'margin',
      header: t('priceTable.margin'),
      align: 'right',
      cell: (row) => <Margin row={row} edits={edits} />,
    },
  ];
}

interface AmountCellProps {
  readonly label: string;
  readonly value: string;
  readonly isChanged: boolean;
  readonly onChange: (text: string) => void;
}

function AmountCell({ label, value, isChanged, onChange }: AmountCellProps) {
  const { t } = useTranslation();
  const isWrong = amountOf(value) === undefined;
  return (
    <span className="inline-block w-32 max-w-full">
      <Input
        aria-label={label}
        aria-invalid={isWrong || undefined}
        title={isWrong ? t('priceTable.badAmount') : undefined}
        inputMode="decimal"
        className={classes(
          'text-right tabular-nums',
          isChanged && !isWrong && 'border-accent bg-accent-soft',
        )}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </span>
  );
}

function Margin({ row, edits }: { row: AdminPriceRow; edits: PriceEdits }) {
  const { t } = useTranslation();
  const margin = marginOf(row, edits);
  if (!margin) return <Nothing />;
  return (
    <span className={classes('whitespace-nowrap', margin.isBelowCost && 'text-bad')}>
      <Price usd={margin.input} /> / <Price usd={margin.output} />{' '}
      {margin.isBelowCost ? <Badge tone="bad">{t('priceTable.belowCost')}</Badge> : null}
    </span>
  );
}
