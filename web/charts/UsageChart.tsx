import { useState, type ReactNode } from 'react';
import { classes } from '../lib/classes.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Segments } from '../ui/Segments.tsx';
import { Table, type Column } from '../ui/Table.tsx';
import { Lines } from './Lines.tsx';
import { StackedBars, Swatch, type Bar, type Series } from './StackedBars.tsx';

interface UsageChartProps {
  readonly label: string;
  readonly series: readonly Series[];
  readonly bars: readonly Bar[];
  readonly formatTick: (value: number, step: number) => string;
  readonly onOpen?: ((bar: Bar) => void) | undefined;
  /** Lines instead of stacked bars, for series that do not add up. */
  readonly lines?: boolean;
  /** The height of the drawing, in pixels. */
  readonly height?: number;
  /** The only series that is shown, and how to choose another one or all. */
  readonly choice?: SeriesChoice | undefined;
}

interface SeriesChoice {
  readonly chosen: string | undefined;
  readonly onChoose: (series: string | undefined) => void;
}

/** The drawing with its legend, or the same figures as a table. */
export function UsageChart(props: UsageChartProps) {
  const { label, series, bars, formatTick, onOpen, lines = false, height = 220, choice } = props;
  const [view, setView] = useState<'chart' | 'table'>('chart');
  const { t } = useTranslation();
  return (
    <div>
      <div className="mb-3 flex flex-wrap items-start justify-between gap-x-6 gap-y-2 max-sm:flex-col-reverse">
        <Legend series={series} choice={choice} />
        <Segments
          label={t('common.view')}
          value={view}
          onChange={setView}
          options={[
            { value: 'chart', label: t('common.chart') },
            { value: 'table', label: t('common.table') },
          ]}
        />
      </div>
      {view === 'table' ? (
        <BarsTable label={label} series={series} bars={bars} lines={lines} />
      ) : lines ? (
        <Lines {...{ label, series, formatTick, height }} points={bars} />
      ) : (
        <StackedBars {...{ label, series, bars, formatTick, onOpen, height }} />
      )}
    </div>
  );
}

function Legend({ series, choice }: Pick<UsageChartProps, 'series' | 'choice'>): ReactNode {
  return (
    <ul className="flex min-w-0 flex-wrap gap-x-4 gap-y-1 text-sm text-ink-2 sm:flex-1 sm:py-1.5">
      {series.map((item) => (
        <li key={item.id} className="flex min-w-0 items-center gap-1.5">
          {choice ? (
            <SeriesButton item={item} {...choice} />
          ) : (
            <>
              <Swatch colour={item.colour} />
              <span className="truncate">{item.label}</span>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Shows one series alone; pressed again, all of them. */
function SeriesButton({ item, chosen, onChoose }: SeriesChoice & { item: Series }): ReactNode {
  const isChosen = chosen === item.id;
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      onClick={() => onChoose(isChosen ? undefined : item.id)}
      className={classes(
        'flex min-w-0 items-center gap-1.5 rounded-sm px-1 py-0.5 hover:text-ink',
        isChosen && 'bg-hover font-medium text-ink',
      )}
    >
      <Swatch colour={item.colour} />
      <span className="truncate">{item.label}</span>
    </button>
  );
}

function BarsTable({
  label,
  series,
  bars,
  lines,
}: Required<Pick<UsageChartProps, 'label' | 'series' | 'bars' | 'lines'>>) {
  const { t } = useTranslation();
  const columns: Column<Bar>[] = [
    { id: 'day', header: t('charts.day'), card: 'title', cell: (bar) => bar.longLabel },
    ...series.map((item): Column<Bar> => ({
      id: item.id,
      header: item.label,
      align: 'right',
      cell: (bar) => bar.parts.find((part) => part.series === item.id)?.text ?? '–',
    })),
  ];
  const total: Column<Bar> = {
    id: 'total',
    header: t('charts.total'),
    align: 'right',
    card: 'aside',
    cell: (bar) => bar.total,
  };
  return (
    <Table
      label={label}
      columns={lines ? columns : [...columns, total]}
      rows={bars.toReversed()}
      rowKey={(bar) => bar.id}
    />
  );
}
