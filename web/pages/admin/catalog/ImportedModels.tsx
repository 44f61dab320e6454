import type { TFunction } from 'i18next';
import { useState, type ReactNode } from 'react';
import type { AdminCatalogImport } from '../../../lib/answers.ts';
import { classes } from '../../../lib/classes.ts';
import { formatPercent } from '../../../lib/numbers.ts';
import { useShownRows } from '../../../lib/pages.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Check, TextField } from '../../../ui/Field.tsx';
import { Price } from '../../../ui/Money.tsx';
import { Nothing } from '../../../ui/Numbers.tsx';
import { ShowMore } from '../../../ui/Pager.tsx';
import { Empty } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { importRows, wantedModels, type ImportRow, type PricePair } from './selection.ts';

interface ImportedModelsProps {
  readonly found: AdminCatalogImport;
  readonly title?: ReactNode;
  /** The costs of the models were entered, not found in the price list. */
  readonly hasOwnCosts?: boolean;
  readonly addLabel: (count: number) => string;
  readonly busy: boolean;
  /** `undefined` means all of them. */
  readonly onAdd: (models: string[] | undefined) => void;
}

/** The models that a backend offers, to be ticked. */
export function ImportedModels({
  found,
  title,
  hasOwnCosts = false,
  addLabel,
  busy,
  onAdd,
}: ImportedModelsProps) {
  const { t } = useTranslation();
  const all = importRows(found);
  const { ticked, tick } = useTicked();
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const matching = all.filter((row) => `${row.model} ${row.title}`.toLowerCase().includes(wanted));
  const { rows, ...more } = useShownRows(matching, wanted);
  const isAll = matching.length > 0 && matching.every((row) => ticked.has(row.name));
  return (
    <Card
      flush
      title={all.length === 0 ? t('import.nothing') : (title ?? t('import.newModels'))}
      hint={hasOwnCosts ? t('import.perMillion') : sourceOf(all, found.list, t)}
    >
      {all.length === 0 ? (
        <Empty compact title={t('import.nothingLead', { count: found.same })} />
      ) : (
        <>
          <div className="flex flex-wrap items-end gap-4 px-5 pb-4">
            <TextField
              label={t('import.search')}
              type="search"
              value={text}
              onChange={(event) => setText(event.target.value)}
              fieldClassName="w-full sm:w-72"
            />
            <Check
              label={t('import.all')}
              className="pb-1.5"
              checked={isAll}
              onChange={(event) =>
                tick(
                  matching.map((row) => row.name),
                  event.target.checked,
                )
              }
            />
            <Button
              kind="primary"
              className="ml-auto"
              busy={busy}
              disabled={ticked.size === 0}
              onClick={() => onAdd(wantedModels(all, ticked))}
            >
              {addLabel(ticked.size)}
            </Button>
          </div>
          <Table
            label={t('import.newModels')}
            columns={columns(t, { ticked, tick, hasOwnCosts }).filter(({ id }) => hasValues(id, all))}
            rows={rows}
            rowKey={(row) => row.name}
          />
          <ShowMore {...more} isSearched />
        </>
      )}
      <Remarks found={found} />
    </Card>
  );
}

/** Which models are ticked. */
function useTicked() {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const tick = (names: readonly string[], isOn: boolean): void => {
    const next = new Set(ticked);
    for (const name of names)
      if (isOn) next.add(name);
      else next.delete(name);
    setTicked(next);
  };
  return { ticked, tick };
}

function sourceOf(rows: readonly ImportRow[], list: string, t: TFunction): string {
  const source = rows.some(({ from }) => from) ? `${t('import.source', { list })} ` : '';
  return `${source}${t('import.perMillion')}`;
}

/** Empty columns are left out. */
function hasValues(column: string, rows: readonly ImportRow[]): boolean {
  switch (column) {
    case 'from':
      return rows.some(({ kind, from }) => kind === 'new' && from);
    case 'before':
      return rows.some(({ kind }) => kind === 'changed');
    case 'margin':
      return rows.some(({ margin }) => margin);
    default:
      return true;
  }
}

interface ColumnParts {
  readonly ticked: ReadonlySet<string>;
  readonly tick: (names: readonly string[], isOn: boolean) => void;
  readonly hasOwnCosts: boolean;
}

function columns(t: TFunction, { ticked, tick, hasOwnCosts }: ColumnParts): Column<ImportRow>[] {
  const pair = (
    id: string,
    header: string,
    read: (row: ImportRow) => PricePair | undefined,
  ): Column<ImportRow> => ({
    id,
    header,
    align: 'right',
    cell: (row) => <Pair pair={read(row)} />,
  });
  return [
    {
      id: 'model',
      header: t('models.model'),
      card: 'title',
      cell: (row) => (
        <Check
          checked={ticked.has(row.name)}
          onChange={(event) => tick([row.name], event.target.checked)}
          aria-label={t('import.select', { model: row.model })}
          label={
            <span className="block">
              {row.title} {row.kind === 'changed' ? <Badge tone="warn">{t('catalog.changed')}</Badge> : null}
              <code className="block text-xs break-all text-ink-3">{row.model}</code>
            </span>
          }
        />
      ),
    },
    pair('from', t(hasOwnCosts ? 'priceTable.cost' : 'import.cost'), (row) =>
      row.kind === 'new' ? row.from : undefined,
    ),
    pair('before', t('import.before'), (row) => (row.kind === 'changed' ? row.from : undefined)),
    pair('to', t('import.price'), (row) => row.to),
    {
      id: 'margin',
      header: t('priceTable.margin'),
      align: 'right',
      cell: ({ kind, margin }) => (kind === 'changed' ? <Nothing /> : <ShownMargin shares={margin} />),
    },
  ];
}

function ShownMargin({ shares }: { readonly shares: ImportRow['margin'] }) {
  const { t, i18n } = useTranslation();
  if (!shares) return <span className="text-ink-3">{t('priceTable.unknown')}</span>;
  const texts = shares.map((share) => (share === undefined ? '–' : formatPercent(share, i18n.language)));
  const isLoss = shares.some((share) => share !== undefined && share < 0);
  return (
    <span className={classes('whitespace-nowrap tabular-nums', isLoss && 'text-bad')}>
      {[...new Set(texts)].join(' / ')}
    </span>
  );
}

function Pair({ pair }: { pair: PricePair | undefined }): ReactNode {
  if (!pair) return <Nothing />;
  return (
    <span className="whitespace-nowrap">
      <Price usd={pair.input} />
      {pair.output === '' ? null : (
        <>
          {' / '}
          <Price usd={pair.output} />
        </>
      )}
    </span>
  );
}

function Remarks({ found }: { found: AdminCatalogImport }) {
  const { t } = useTranslation();
  const { differing, gone, skipped } = found;
  if (differing.length + gone.length + skipped.length === 0) return null;
  return (
    <div className="flex flex-col gap-2 border-t border-line px-5 py-4 text-sm text-ink-2">
      {differing.length > 0 ? <p>{t('import.differing', { count: differing.length })}</p> : null}
      {gone.length > 0 ? (
        <p>{t('import.gone', { count: gone.length, models: gone.slice(0, MOST_NAMED).join(', ') })}</p>
      ) : null}
      {skipped.length > 0 ? (
        <details>
          <summary>{t('import.skipped', { count: skipped.length })}</summary>
          <ul className="mt-2 flex flex-col gap-1">
            {skipped.slice(0, MOST_NAMED).map(({ model, reason }) => (
              <li key={model}>
                <code className="text-xs">{model}</code>: {reason}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </div>
  );
}

const MOST_NAMED = 100;
