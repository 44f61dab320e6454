import type { TFunction } from 'i18next';
import Brain from 'lucide-react/icons/brain';
import Eye from 'lucide-react/icons/eye';
import File from 'lucide-react/icons/file';
import Trash from 'lucide-react/icons/trash-2';
import Wrench from 'lucide-react/icons/wrench';
import { Fragment, memo, useMemo, type ReactNode } from 'react';
import type { PriceRow } from './rows.ts';
import { classes } from '../../../lib/classes.ts';
import { formatPercent } from '../../../lib/numbers.ts';
import { useShownRows } from '../../../lib/pages.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { IconButton } from '../../../ui/Button.tsx';
import { Input } from '../../../ui/Field.tsx';
import { Price } from '../../../ui/Money.tsx';
import { Nothing } from '../../../ui/Numbers.tsx';
import { ShowMore } from '../../../ui/Pager.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import type { DraftEdit } from '../draft/draft.ts';
import {
  costField,
  costParts,
  FLAGS,
  GROUP_PARTS,
  groupField,
  groupMargin,
  hasPrice,
  isBad,
  isCostUnknown,
  isOn,
  isSold,
  marginOf,
  rowKey,
  shownValue,
  toggled,
  type PriceEdits,
  type PriceField,
} from './edits.ts';

interface PriceRowsProps {
  readonly rows: readonly PriceRow[];
  /** When this changes, the rows start from the top. */
  readonly list: string;
  /** A column for each. */
  readonly groups: readonly string[];
  readonly canEdit: boolean;
  readonly edits: PriceEdits;
  readonly onEdit: (row: PriceRow, field: PriceField, text: string) => void;
  readonly onReplace: (edit: DraftEdit) => void;
}

/** Each has a dozen fields. */
const FIRST = 20;

export function PriceRows({ rows, list, ...editing }: PriceRowsProps) {
  const { t } = useTranslation();
  const { rows: shown, ...more } = useShownRows(rows, list, FIRST);
  const twins = useMemo(() => twinsIn(rows), [rows]);
  if (rows.length === 0)
    return <p className="border-t border-line px-5 py-6 text-center text-ink-3">{t('priceTable.none')}</p>;
  return (
    <>
      <Table
        label={t('priceTable.title')}
        columns={columns(t, twins, editing)}
        rows={shown}
        rowKey={rowKey}
      />
      <ShowMore {...more} isSearched />
    </>
  );
}

type Editing = Omit<PriceRowsProps, 'rows' | 'list'>;

/** Models that several lists have: only these are told apart by their list. */
function twinsIn(rows: readonly PriceRow[]): ReadonlySet<string> {
  const seen = new Set<string>();
  return new Set(rows.flatMap(({ model }) => (seen.size === seen.add(model).size ? [model] : [])));
}

interface CellOf {
  readonly field: PriceField;
  readonly label: string;
  readonly empty?: string;
}

type Cell = (row: PriceRow, of: CellOf) => ReactNode;

function columns(t: TFunction, twins: ReadonlySet<string>, editing: Editing): Column<PriceRow>[] {
  const { edits, groups, canEdit, onEdit, onReplace } = editing;
  const cell: Cell = (row, { field, label, empty }) => (
    <ValueCell
      row={row}
      field={field}
      label={label}
      value={shownValue(row, edits, field)}
      isChanged={edits.get(rowKey(row))?.[field] !== undefined}
      placeholder={empty}
      canEdit={canEdit}
      onEdit={onEdit}
    />
  );
  return [
    {
      id: 'model',
      header: t('models.model'),
      card: 'title',
      className: 'min-w-40',
      cell: (row) => <ModelCell row={row} hasTwin={twins.has(row.model)} />,
    },
    ...moneyColumns(t, edits, cell),
    ...groups.map((group) => groupColumn(group, { t, edits, cell })),
    ...lengthColumns(t, cell),
    {
      id: 'abilities',
      header: t('priceTable.abilities'),
      cell: (row) => (row.type === 'chat_completion' ? <Abilities row={row} {...editing} /> : <Nothing />),
    },
    ...(canEdit ? [removeColumn(t, onReplace)] : []),
  ];
}

function removeColumn(t: TFunction, onReplace: Editing['onReplace']): Column<PriceRow> {
  return {
    id: 'remove',
    header: <span className="sr-only">{t('priceTable.remove')}</span>,
    align: 'right',
    card: 'aside',
    className: 'pl-0!',
    cell: ({ list, model, isRemoved }) =>
      isRemoved ? null : (
        <IconButton
          label={t('priceTable.removeOf', { model })}
          onClick={() => onReplace({ kind: 'remove_model', list, model })}
        >
          <Trash size={15} aria-hidden />
        </IconButton>
      ),
  };
}

function moneyColumns(t: TFunction, edits: PriceEdits, cell: Cell): Column<PriceRow>[] {
  return [
    {
      id: 'cost',
      header: t('priceTable.cost'),
      align: 'right',
      cell: (row) => <Costs row={row} t={t} cell={cell} />,
    },
    {
      id: 'price',
      header: t('priceTable.price'),
      align: 'right',
      cell: (row) => (
        <span className="flex flex-col items-end gap-0.5 max-sm:items-start">
          {hasPrice(row) ? (
            <Pair isFirst={row.type === 'embedding'}>
              {costParts(row).map((part) => (
                <Fragment key={part}>
                  {cell(row, { field: part, label: t(`priceTable.of.${part}`, { model: row.model }) })}
                </Fragment>
              ))}
            </Pair>
          ) : null}
          {row.imageRange ? (
            <span className="whitespace-nowrap">
              <Price usd={row.imageRange.from} />
              {row.imageRange.from === row.imageRange.to ? null : (
                <>
                  –<Price usd={row.imageRange.to} />
                </>
              )}
            </span>
          ) : null}
          {row.hasMore ? (
            <span className="text-xs text-ink-3">
              {t(hasPrice(row) ? 'priceTable.more' : 'priceTable.bySize')}
            </span>
          ) : null}
        </span>
      ),
    },
    {
      id: 'cached',
      header: t('priceTable.cached'),
      align: 'right',
      cell: (row) =>
        row.type === 'chat_completion' && row.input !== null ? (
          cell(row, {
            field: 'cachedInput',
            label: t('priceTable.of.cached', { model: row.model }),
            empty: shownValue(row, edits, 'input'),
          })
        ) : (
          <Nothing />
        ),
    },
    {
      id: 'margin',
      header: t('priceTable.margin'),
      align: 'right',
      cell: (row) => <Margin row={row} edits={edits} />,
    },
  ];
}

interface GroupCells {
  readonly t: TFunction;
  readonly edits: PriceEdits;
  readonly cell: Cell;
}

/** The price of a price group, its own or the one that follows from the list, and the margin. */
function groupColumn(group: string, { t, edits, cell }: GroupCells): Column<PriceRow> {
  return {
    id: `group ${group}`,
    // Names may be long, and have no spaces.
    header: <span className="inline-block max-w-36 wrap-anywhere">{t('priceTable.group', { group })}</span>,
    align: 'right',
    cell: (row) => {
      const price = row.groupPrices[group];
      if (row.free) return <Nothing />;
      if (!price || price === 'hidden')
        return (
          <span className="text-xs text-ink-3">
            {t(price === 'hidden' ? 'priceTable.hidden' : 'priceTable.bySize')}
          </span>
        );
      return (
        <span className="flex flex-col items-end gap-0.5 max-sm:items-start">
          {'image' in price ? (
            <Price usd={price.image} />
          ) : (
            <Pair>
              {GROUP_PARTS.filter((part) => costParts(row).includes(part)).map((part) => (
                <Fragment key={part}>
                  {cell(row, {
                    field: groupField(part, group),
                    label: t(`priceTable.groupOf.${part}`, { group, model: row.model }),
                    empty: price[part],
                  })}
                </Fragment>
              ))}
            </Pair>
          )}
          <span className="text-xs">
            <ShownMargin margin={groupMargin(row, edits, group)} />
          </span>
        </span>
      );
    },
  };
}

function lengthColumns(t: TFunction, cell: Cell): Column<PriceRow>[] {
  const empty = '–';
  return [
    {
      id: 'context',
      header: t('priceTable.context'),
      align: 'right',
      cell: (row) =>
        row.type === 'image_generation' ? (
          <Nothing />
        ) : (
          cell(row, { field: 'context', label: t('priceTable.of.context', { model: row.model }), empty })
        ),
    },
    {
      id: 'maxOutput',
      header: t('priceTable.maxOutput'),
      align: 'right',
      cell: (row) =>
        row.type === 'chat_completion' ? (
          cell(row, { field: 'maxOutput', label: t('priceTable.of.maxOutput', { model: row.model }), empty })
        ) : (
          <Nothing />
        ),
    },
  ];
}

function ModelCell({ row, hasTwin }: { row: PriceRow; hasTwin: boolean }) {
  const { t } = useTranslation();
  const { name, list, model, type, free, isNew, isRemoved } = row;
  return (
    <span className={classes('block min-w-0', isRemoved && 'opacity-60')}>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
        {name}
        {type === 'chat_completion' ? null : <Badge>{t(`models.${TYPES[type]}`)}</Badge>}
        {free ? <Badge>{t('backendEdit.free')}</Badge> : null}
        {isNew ? <Badge tone="warn">{t('priceTable.new')}</Badge> : null}
        {isRemoved ? <Badge tone="bad">{t('priceTable.removed')}</Badge> : null}
        {isNew || isRemoved || isSold(row) ? null : <Badge tone="warn">{t('priceTable.unsold')}</Badge>}
      </span>
      <code className="block text-xs wrap-anywhere text-ink-3">
        {hasTwin ? `${list} / ` : ''}
        {model}
      </code>
    </span>
  );
}

const TYPES = {
  chat_completion: 'chat',
  image_generation: 'image',
  embedding: 'embedding',
  moderation: 'moderation',
} as const;

interface CostsProps {
  readonly row: PriceRow;
  readonly t: TFunction;
  readonly cell: Cell;
}

/** A line for each backend: what it takes, and what the public list says where that is something else. */
function Costs({ row, t, cell }: CostsProps) {
  if (row.backends.length === 0) return <Nothing />;
  return (
    <span className="flex flex-col items-end gap-1.5 max-sm:items-start">
      {row.backends.map((backend) => (
        <span
          key={backend.name}
          className={classes(
            'flex gap-x-2 gap-y-0.5 max-sm:flex-col max-sm:items-start',
            // Beside each other where there are several, so that rows stay low.
            row.backends.length > 1 ? 'flex-row-reverse items-center' : 'flex-col items-end',
          )}
        >
          {backend.isBuiltIn ? null : (
            <Pair isFirst={row.type === 'embedding'}>
              {costParts(row).map((part) => (
                <Fragment key={part}>
                  {cell(row, {
                    field: costField(part, backend.name),
                    label: t(`priceTable.costOf.${part}`, { backend: backend.name, model: row.model }),
                    empty: '–',
                  })}
                </Fragment>
              ))}
            </Pair>
          )}
          <span className="flex flex-wrap items-center justify-end gap-x-2 text-xs text-ink-3">
            {backend.isBuiltIn ? t('priceTable.builtIn') : <code>{backend.name}</code>}
            {backend.paused ? <Badge tone="warn">{t('priceTable.paused')}</Badge> : null}
            {backend.differs && backend.listed ? (
              <span className="text-warn">
                {t('priceTable.listed')} <Price usd={backend.listed.input} /> /{' '}
                <Price usd={backend.listed.output} />
              </span>
            ) : null}
          </span>
        </span>
      ))}
    </span>
  );
}

interface PairProps {
  /** There is only the first of two, and it stands below the first of the other rows. */
  readonly isFirst?: boolean;
  readonly children: ReactNode;
}

function Pair({ isFirst, children }: PairProps) {
  return (
    <span className="inline-flex gap-1.5 max-sm:max-w-full">
      {children}
      {isFirst ? <span aria-hidden className="w-16 max-sm:hidden" /> : null}
    </span>
  );
}

interface ValueCellProps {
  readonly row: PriceRow;
  readonly field: PriceField;
  readonly label: string;
  readonly value: string;
  readonly isChanged: boolean;
  readonly placeholder: string | undefined;
  readonly canEdit: boolean;
  readonly onEdit: PriceRowsProps['onEdit'];
}

/** The page has hundreds of fields; only the one that is typed in is drawn again. */
const ValueCell = memo(function ValueCell({
  row,
  field,
  label,
  value,
  isChanged,
  placeholder,
  canEdit,
  onEdit,
}: ValueCellProps) {
  const { t } = useTranslation();
  if (!canEdit)
    return (
      <span className={classes('tabular-nums', value === '' && 'text-ink-3')}>
        <span className="sr-only">{label} </span>
        {value === '' ? (placeholder ?? '–') : value}
      </span>
    );
  const isWrong = isBad(field, value);
  const isCount = field === 'context' || field === 'maxOutput';
  return (
    <Input
      aria-label={label}
      aria-invalid={isWrong || undefined}
      title={isWrong ? t(isCount ? 'priceTable.badCount' : 'priceTable.badAmount') : undefined}
      inputMode={isCount ? 'text' : 'decimal'}
      disabled={row.isRemoved}
      // The browser draws it, unseen, below each text as well.
      placeholder={value === '' ? placeholder : undefined}
      className={classes(
        'h-8! max-w-full px-1.5! text-right tabular-nums sm:text-sm!',
        isCount ? 'sm:w-18!' : 'w-16! max-sm:w-18!',
        isChanged && !isWrong && 'border-accent! bg-accent-soft!',
      )}
      value={value}
      onChange={(event) => onEdit(row, field, event.target.value)}
    />
  );
});

function Margin({ row, edits }: { row: PriceRow; edits: PriceEdits }) {
  const { t } = useTranslation();
  const margin = marginOf(row, edits);
  if (margin) return <ShownMargin margin={margin} />;
  return isCostUnknown(row, edits) ? (
    <span className="text-ink-3">{t('priceTable.unknown')}</span>
  ) : (
    <Nothing />
  );
}

function ShownMargin({ margin }: { margin: ReturnType<typeof marginOf> }) {
  const { t, i18n } = useTranslation();
  if (!margin) return null;
  const texts = margin.shares.map((share) =>
    share === undefined ? '–' : formatPercent(share, i18n.language),
  );
  return (
    <span className={classes('whitespace-nowrap tabular-nums', margin.isBelowCost && 'text-bad')}>
      {new Set(texts).size === 1 ? texts[0] : texts.join(' / ')}
      {margin.isBelowCost ? (
        <span className="block">
          <Badge tone="bad">{t('priceTable.belowCost')}</Badge>
        </span>
      ) : null}
    </span>
  );
}

const ICONS = { vision: Eye, tools: Wrench, reasoning: Brain, files: File } as const;

function Abilities({ row, edits, canEdit, onEdit }: { row: PriceRow } & Editing) {
  const { t } = useTranslation();
  return (
    <span
      role="group"
      aria-label={t('priceTable.of.abilities', { model: row.model })}
      className="inline-flex gap-0.5"
    >
      {FLAGS.map((flag) => {
        const Icon = ICONS[flag];
        const isPressed = isOn(row, edits, flag);
        return (
          <button
            key={flag}
            type="button"
            aria-pressed={isPressed}
            aria-label={t(`priceTable.can.${flag}`, { model: row.model })}
            title={t(`priceTable.can.${flag}`, { model: row.model })}
            disabled={row.isRemoved || !canEdit}
            onClick={() => onEdit(row, flag, toggled(row, edits, flag))}
            className={classes(
              'grid size-7 place-items-center rounded-md border transition-colors',
              isPressed
                ? 'border-accent bg-accent-soft text-accent'
                : 'border-transparent text-ink-3 opacity-70 hover:bg-hover hover:opacity-100',
            )}
          >
            <Icon size={15} aria-hidden />
          </button>
        );
      })}
    </span>
  );
}
