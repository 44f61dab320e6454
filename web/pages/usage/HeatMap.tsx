import { memo, useState, type KeyboardEvent } from 'react';
import type { UsageHeatMap } from '../../lib/answers.ts';
import { classes } from '../../lib/classes.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import {
  heatRows,
  hourName,
  hourSpan,
  HOURS,
  levelOf,
  LEVELS,
  nextPlace,
  weekdayName,
  type Place,
} from './heat.ts';
import { MissingNote } from './UsageTable.tsx';
import { measureOf, useMeasureText, type Measure } from './choices.ts';

interface HeatMapProps {
  readonly map: UsageHeatMap;
  readonly measure: Measure;
  readonly zone: string;
  readonly view: 'chart' | 'table';
  readonly onView: (view: 'chart' | 'table') => void;
}

/** Hours of the day against weekdays, in the reader's own time zone: as shades, or the same figures as a table. */
export const HeatMap = memo(function HeatMap({ map, measure, zone, view, onView }: HeatMapProps) {
  const { t } = useTranslation();
  const format = useMeasureText(measure);
  const label = t('usage.heat.title', { measure: t(`usage.${measure}`) });
  const rows = heatRows(map, measureOf(measure));
  return (
    <Card
      title={label}
      hint={t('usage.heat.zone', { zone: zone.replaceAll('_', ' ') })}
      actions={
        <Segments
          label={t('common.view')}
          value={view}
          onChange={onView}
          options={[
            { value: 'chart', label: t('common.chart') },
            { value: 'table', label: t('common.table') },
          ]}
        />
      }
    >
      {view === 'table' ? (
        <HoursTable label={label} rows={rows} format={format} />
      ) : (
        <Shades label={label} rows={rows} format={format} />
      )}
      <MissingNote missing={map.missing} />
    </Card>
  );
});

interface RowsProps {
  readonly label: string;
  readonly rows: readonly (readonly number[])[];
  readonly format: (value: number) => string;
}

/** Every cell tells screen readers its figure; arrow keys or the pointer show it to everybody else. */
function Shades({ label, rows, format }: RowsProps) {
  const { t, i18n } = useTranslation();
  const [active, setActive] = useState<Place>();
  const most = Math.max(...rows.flat());
  const move = (event: KeyboardEvent): void => {
    const next = nextPlace(event.key, active);
    if (next) {
      event.preventDefault();
      setActive(next);
    } else if (event.key === 'Escape') setActive(undefined);
  };
  const shown = active && {
    when: `${weekdayName(active.weekday, i18n.language, 'long')}, ${hourSpan(active.hour, i18n.language)}`,
    value: format(rows[active.weekday]?.[active.hour] ?? 0),
  };
  return (
    <div
      role="group"
      aria-label={`${label}. ${t('usage.heat.keys')}`}
      className="rounded-md"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- arrow keys walk the cells
      tabIndex={0}
      onKeyDown={move}
      onPointerLeave={() => setActive(undefined)}
      onBlur={() => setActive(undefined)}
    >
      <ShadeTable {...{ label, rows, format, most, active, setActive }} />
      <div className="mt-3 flex flex-wrap items-center justify-between gap-x-6 gap-y-2 text-sm">
        <p role="status" className="min-h-5 min-w-0">
          {shown ? (
            <>
              {shown.when}: <span className="font-medium tabular-nums">{shown.value}</span>
            </>
          ) : (
            <span className="text-ink-3">{t('usage.heat.point')}</span>
          )}
        </p>
        <Legend least={format(0)} most={format(most)} />
      </div>
    </div>
  );
}

interface ShadeTableProps extends RowsProps {
  readonly most: number;
  readonly active: Place | undefined;
  readonly setActive: (place: Place) => void;
}

function ShadeTable({ label, rows, format, most, active, setActive }: ShadeTableProps) {
  const { i18n } = useTranslation();
  return (
    <table aria-label={label} className="w-full table-fixed border-separate border-spacing-[2px] text-xs">
      <HourHeader />
      <tbody>
        {rows.map((values, weekday) => (
          // oxlint-disable-next-line react/no-array-index-key -- a weekday is its place
          <tr key={weekday}>
            <th scope="row" className="text-left font-normal text-ink-2">
              <span aria-hidden>{weekdayName(weekday, i18n.language, 'short')}</span>
              <span className="sr-only">{weekdayName(weekday, i18n.language, 'long')}</span>
            </th>
            {values.map((value, hour) => (
              <td
                // oxlint-disable-next-line react/no-array-index-key -- an hour is its place
                key={hour}
                data-level={levelOf(value, most)}
                onPointerMove={() => setActive({ weekday, hour })}
                className={classes(
                  'h-7 rounded-sm p-0',
                  active?.weekday === weekday && active.hour === hour && 'outline-2 outline-ink',
                )}
                style={{ background: shadeOf(levelOf(value, most)) }}
              >
                <span className="sr-only">{format(value)}</span>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Every third hour is labelled; all are read out. */
function HourHeader() {
  const { i18n } = useTranslation();
  return (
    <thead>
      <tr>
        <td className="w-9" />
        {Array.from({ length: HOURS }, (_, hour) => (
          <th key={hour} scope="col" className="relative h-5 font-normal text-ink-3">
            <span className="sr-only">{hourName(hour, i18n.language)}</span>
            {hour % 3 === 0 ? (
              <span aria-hidden className="absolute inset-y-0 left-0 tabular-nums">
                {String(hour).padStart(2, '0')}
              </span>
            ) : null}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Legend({ least, most }: { least: string; most: string }) {
  const { t } = useTranslation();
  return (
    <div
      role="img"
      aria-label={t('usage.heat.legend', { least, most })}
      className="flex items-center gap-1 text-xs text-ink-3 tabular-nums"
    >
      <span className="mr-1">{least}</span>
      {Array.from({ length: LEVELS + 1 }, (_, level) => (
        <span
          key={level}
          className="inline-block size-3.5 rounded-sm"
          style={{ background: shadeOf(level) }}
        />
      ))}
      <span className="ml-1">{most}</span>
    </div>
  );
}

/** Shades of one colour from the surface to the chart's first: they work in both themes and without colour vision. */
function shadeOf(level: number): string {
  if (level === 0) return 'var(--c-sunken)';
  return `color-mix(in oklab, var(--chart-1) ${12 + (level / LEVELS) * 88}%, var(--c-surface))`;
}

interface HourLine {
  readonly hour: number;
  readonly values: readonly number[];
}

function HoursTable({ label, rows, format }: RowsProps) {
  const { t, i18n } = useTranslation();
  const lines: HourLine[] = Array.from({ length: HOURS }, (_, hour) => ({
    hour,
    values: rows.map((row) => row[hour] ?? 0),
  }));
  const columns: Column<HourLine>[] = [
    {
      id: 'hour',
      header: t('usage.grouped.hour'),
      card: 'title',
      cell: ({ hour }) => <span className="whitespace-nowrap">{hourSpan(hour, i18n.language)}</span>,
    },
    ...rows.map((_, weekday): Column<HourLine> => ({
      id: String(weekday),
      header: weekdayName(weekday, i18n.language, 'short'),
      align: 'right',
      cell: ({ values }) => (values[weekday] ? format(values[weekday]) : '–'),
    })),
    {
      id: 'total',
      header: t('charts.total'),
      align: 'right',
      card: 'aside',
      cell: ({ values }) => format(values.reduce((sum, value) => sum + value, 0)),
    },
  ];
  return <Table label={label} columns={columns} rows={lines} rowKey={({ hour }) => String(hour)} />;
}
